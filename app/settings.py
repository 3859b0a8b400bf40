"""Settings of the service, from the environment: ASKNEXT_ and the name in capitals."""

import os
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class ServiceSettings(BaseSettings):
    """All of them have defaults that are safe on one's own machine."""

    model_config = SettingsConfigDict(
        env_prefix="ASKNEXT_", env_ignore_empty=True, frozen=True, protected_namespaces=()
    )

    host: str = Field("127.0.0.1", description="address to listen on; only this machine by default")
    port: int = Field(8000, ge=0, le=65_535, description="port to listen on; 0 takes a free one")
    data_dir: Path = Field(Path("asknext-data"), description="folder for the SQLite file, snapshots and uploads")
    database: str | None = Field(
        None, description="URL of the database; by default SQLite in the data folder (postgresql://user@host/name)"
    )
    admin_key: str | None = Field(
        None,
        min_length=20,
        description="an administrator's key, for containers; by default one is made and printed once",
    )
    metrics_key: str | None = Field(
        None,
        min_length=20,
        description="a key that /metrics asks for, as Authorization: Bearer; by default it is open",
    )
    demo: bool = Field(False, description="make a small project to try, if there is none (`make serve` does)")
    max_body: int = Field(8 * 2**20, ge=1024, description="bytes of a JSON body")
    max_upload: int = Field(4 * 2**30, ge=1024, description="bytes of an uploaded file")
    max_columns: int = Field(2**20, ge=1, le=10_000_000, description="columns of a project's features")
    max_items: int = Field(2_000_000, ge=1, description="items of a project")
    max_line: int = Field(
        4 * 2**20, ge=1024, le=2**30, description="characters of a line of an uploaded csv, jsonl or svmlight file"
    )
    max_entries: int = Field(200_000, ge=1, description="entries of an uploaded zip or npz file")
    max_expanded: int = Field(
        2**27, ge=1024, description="bytes that an uploaded zip or npz file may expand to, whatever its size"
    )
    max_ratio: int = Field(100, ge=1, description="times its size that a larger zip or npz file may expand to")
    max_pixels: int = Field(50_000_000, ge=1, le=50_000_000, description="pixels of a picture")
    max_requests: int = Field(
        512,
        ge=1,
        description="requests at once, of which a key gets half and an address three quarters; "
        "more are told to try again (503)",
    )
    header_seconds: float = Field(
        10.0, gt=0, description="seconds for the headers of a request, and for a connection that is silent"
    )
    body_seconds: float = Field(
        20.0, gt=0, description="seconds for a body; one that brings 4 kB a second may take longer"
    )
    send_seconds: float = Field(
        60.0, gt=0, description="seconds without progress after which whoever does not read an answer is cut off"
    )
    map_above: int = Field(
        256 * 2**20,
        ge=1,
        description="bytes from which on coded items of a pool are in a mapped file, not in memory",
    )
    dask: str | None = Field(
        None,
        pattern=r"^(tcp|tls)://.+",
        description="a Dask scheduler whose workers hold the pools (tcp://127.0.0.1:8786, or tls://host:port)",
    )
    dask_ca: Path | None = Field(None, description="for tls://, the file of the authority that signs certificates")
    dask_cert: Path | None = Field(None, description="for tls://, the file of our certificate")
    dask_key: Path | None = Field(None, description="for tls://, the file of its key")
    text_model: str | None = Field(
        None, description="a pretrained model that texts are embedded with: a folder, or a name in the local cache"
    )
    picture_model: str | None = Field(None, description="the same for pictures (CLIP)")
    model_downloads: bool = Field(False, description="whether pretrained models may be downloaded from Hugging Face")
    job_threads: int = Field(2, ge=1, le=64, description="threads for training and imports")
    snapshot_seconds: float = Field(30.0, ge=0.1, description="least time between two snapshots of a model")
    log_level: str = Field("INFO", description="DEBUG, INFO, WARNING or ERROR")

    @property
    def database_url(self) -> str:
        """The URL in use."""
        return self.database or f"sqlite:///{self.data_dir.resolve() / 'asknext.db'}"

    @property
    def cores(self) -> int:
        """Cores that this process may use."""
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
