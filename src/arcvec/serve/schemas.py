"""Settings of the server, and the requests and responses of its API, described in OpenAPI."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from arcvec.recommendation.exact import Direction
from arcvec.settings import Settings

MAX_NODES = 100


def _whole(value: object) -> object:
    """Return 10 for 10.0: in JSON both are the same number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Name = Annotated[str, Field(max_length=1000, description="name of a node")]
Pair = Annotated[list[Name], Field(min_length=2, max_length=2, description="source and target")]
_COUNT = "how many at most, best first"
Count = Annotated[int, Field(ge=1, le=1000, description=_COUNT), BeforeValidator(_whole)]
_DIRECTION = "targets: whom the node would link to; sources: who would link to it"
Towards = Annotated[Direction, Field(description=_DIRECTION)]
_POPULARITY = "how much the popularity of a recommended node counts: 1 as trained, 0 not at all"
Popularity = Annotated[float, Field(ge=0, le=1, description=_POPULARITY)]


class ServeSettings(Settings):
    """How much the server takes on at once; what is beyond is refused with status 503."""

    max_requests: int = Field(
        256, ge=1, le=100_000, description="requests worked on at once; more are refused with 503"
    )
    max_connections: int = Field(
        2048, ge=1, le=100_000, description="connections open at once, idle ones included"
    )
    batch: int = Field(32, ge=1, le=1024, description="nodes that are searched for at once")
    cache: int = Field(
        4096, ge=0, le=10_000_000, description="answers kept for when they are asked for again"
    )
    threads: int = Field(1, ge=1, le=1024, description="threads that look for recommendations")


class Question(BaseModel):
    """A request; unknown parameters are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Body(Question):
    """A request in JSON, which has types: "10" is not a number."""

    model_config = ConfigDict(strict=True)

    @model_validator(mode="before")
    @classmethod
    def _keep_one_unknown(cls, values: object) -> object:
        """Keep only one unknown key: pydantic would take seconds to refuse 100,000 of them."""
        if not isinstance(values, dict):
            return values
        unknown = islice((key for key in values if key not in cls.model_fields), 1)
        return {key: values[key] for key in (*cls.model_fields, *unknown) if key in values}


class ScoreQuestion(Question):
    """An edge to score."""

    source: Name
    target: Name


class ScoreBody(Body):
    """Edges to score."""

    pairs: list[Pair] = Field(min_length=1, max_length=10_000, fail_fast=True)


class Wanted(Question):
    """What to recommend for a node."""

    k: Count = 10
    direction: Towards = "targets"
    popularity: Popularity = 1


class RecommendQuestion(Wanted):
    """A node to recommend for."""

    node: Name


class RecommendBody(Wanted, Body):
    """Nodes to recommend for."""

    nodes: list[Name] = Field(min_length=1, max_length=MAX_NODES)


class NodesQuestion(Question):
    """A node by its name, or nodes by a prefix; both conditions hold if both are given."""

    name: Name | SkipJsonSchema[None] = Field(None, description="the one node of this name")
    prefix: Name | SkipJsonSchema[None] = Field(
        None, description="nodes whose names start so, in any case; those of most edges first"
    )
    limit: int = Field(10, ge=1, le=MAX_NODES, description="nodes at most")


class Score(BaseModel):
    """The score of an edge."""

    source: str
    target: str
    score: float | None = Field(description="higher is likelier; null if it is beyond float32")


class Scores(BaseModel):
    """The scores of edges, in their order."""

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
    """The best new edges of several nodes, in their order."""

    answers: list[Recommendations]


class NodeFacts(BaseModel):
    """A node."""

    name: str
    out_degree: int | None = Field(description="known edges from it; null without a graph")
    in_degree: int | None = Field(description="known edges to it; null without a graph")


class Nodes(BaseModel):
    """Nodes, and whether more of them match."""

    nodes: list[NodeFacts]
    more: bool


class Problem(BaseModel):
    """What was expected, what came, what to do."""

    error: str
