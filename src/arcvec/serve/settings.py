"""How much the server takes on at once."""

from __future__ import annotations

from pydantic import Field

from arcvec.settings import Settings


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
