"""What every service is told by whoever starts it, in environment variables `PROPDESK_*`."""

import sys
from pathlib import Path
from typing import Final, Literal, TypeVar

from pydantic import AliasChoices, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX: Final = "PROPDESK_"
USAGE_EXIT: Final = 2


class ServiceSettings(BaseSettings):
    """Common to all services; each adds its own fields in `services/<name>/settings.py`.

    `parent_pid`: the process with which this one must end; None when nobody supervises it. `state_dir`: this
    service's own folder, by default `<data_dir>/services/<name>`. `key_file` is the process's own key, `key_files` those of
    sources by book (JSON); without any nothing is signed and the server must ask for no key (tests only). `root_key` is the
    public root key to trust.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", populate_by_name=True, frozen=True)

    nats_url: str
    desk: str = "default"
    data_dir: Path = Field(default=Path(".propdesk"), validation_alias=AliasChoices("PROPDESK_DIR", "data_dir"))
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    parent_pid: int | None = None
    state_dir: Path | None = None
    key_file: Path | None = None
    key_files: dict[str, Path] = {}
    root_key: str | None = None

    def folder_of(self, service: str) -> Path | None:
        """Where a service keeps what it can lose; None when it was told neither that folder nor a data directory."""
        if self.state_dir is not None:
            return self.state_dir
        return self.data_dir / "services" / service if "data_dir" in self.model_fields_set else None


C = TypeVar("C", bound=ServiceSettings)


def load_settings(kind: type[C]) -> C:
    """Read `kind` from the environment; on a bad or missing value says which on stderr and exits 2."""
    try:
        return kind.model_validate({})  # reads the environment
    except ValidationError as error:
        wrong = "; ".join(f"{_variable(item['loc'])}: {item['msg']}" for item in error.errors())
        print(f"settings: {wrong}", file=sys.stderr)
        sys.exit(USAGE_EXIT)


def _variable(location: tuple[int | str, ...]) -> str:
    """The environment variable behind a field."""
    name = str(location[0]) if location else ""
    return name if name.startswith(PREFIX) else f"{PREFIX}{name.upper()}"
