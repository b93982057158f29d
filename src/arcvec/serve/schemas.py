"""What requests may hold, and what answers hold: checked, bounded, and told in the OpenAPI page."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from arcvec.recommendation.candidates import Direction

MAX_K = 1000
MAX_NODES = 100
MAX_PAIRS = 10_000
MAX_BODY = 1 << 20
"""Bytes of a request's body."""

Name = Annotated[str, Field(max_length=1000, description="name of a node")]
Count = Annotated[int, Field(ge=1, le=MAX_K, description="how many at most, best first")]
Pair = Annotated[list[Name], Field(min_length=2, max_length=2, description="source and target")]

_DIRECTION = "targets: whom the node would link to; sources: who would link to it"


def _whole(value: object) -> object:
    """Return 10 for 10.0: in JSON both are the same number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Question(BaseModel):
    """Base of what is asked in a URL: what nobody declared is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Body(Question):
    """Base of what is asked in a body: JSON has types, so that "10" is no number."""

    model_config = ConfigDict(strict=True)

    @model_validator(mode="before")
    @classmethod
    def _with_one_unknown(cls, values: object) -> object:
        """Keep one key that nobody declared: to refuse a hundred thousand would take seconds."""
        if not isinstance(values, dict):
            return values
        unknown = next((key for key in values if key not in cls.model_fields), None)
        return {
            key: value for key, value in values.items() if key in cls.model_fields or key == unknown
        }


class ScoreQuestion(Question):
    """An edge to score."""

    source: Name
    target: Name


class ScoreBody(Body):
    """Many edges to score."""

    # Told is the first thing wrong, so that ten thousand need not be found.
    pairs: list[Pair] = Field(min_length=1, max_length=MAX_PAIRS, fail_fast=True)


class RecommendQuestion(Question):
    """A node to recommend for."""

    node: Name
    k: Count = 10
    direction: Direction = Field("targets", description=_DIRECTION)


class RecommendBody(Body):
    """Many nodes to recommend for."""

    nodes: list[Name] = Field(min_length=1, max_length=MAX_NODES)
    k: Annotated[Count, BeforeValidator(_whole)] = 10
    direction: Direction = Field("targets", description=_DIRECTION)


class NodesQuestion(Question):
    """A node by its name, or nodes whose names start alike; both conditions if both are given."""

    name: Name | None = Field(None, description="the node of this name, and no other")
    prefix: Name | None = Field(
        None, description="nodes whose names start so, in any case; those of most edges first"
    )
    limit: int = Field(10, ge=1, le=MAX_NODES, description="nodes at most")


class Score(BaseModel):
    """The score of an edge."""

    source: str
    target: str
    score: float | None = Field(description="higher is likelier; null if it is beyond float32")


class Scores(BaseModel):
    """The scores of many edges, in their order."""

    scores: list[float | None]


class Recommendation(BaseModel):
    """One recommended node."""

    node: str
    score: float | None


class Recommendations(BaseModel):
    """The best new edges of a node, best first."""

    node: str
    direction: Direction
    recommendations: list[Recommendation]


class ManyRecommendations(BaseModel):
    """The best new edges of many nodes, in their order."""

    answers: list[Recommendations]


class NodeFacts(BaseModel):
    """A node."""

    name: str
    out_degree: int | None = Field(description="known edges from it; null without a graph")
    in_degree: int | None = Field(description="known edges to it; null without a graph")


class Nodes(BaseModel):
    """Nodes, and whether others start alike."""

    nodes: list[NodeFacts]
    more: bool


class Health(BaseModel):
    """That the server answers."""

    status: str


class Problem(BaseModel):
    """What was wrong: what was expected, what came, what to do."""

    error: str
