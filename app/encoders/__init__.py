"""Raw items to histograms: fitted on a pool, stored as bytes, the same rows ever after."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from app.encoders import archive
from app.encoders.contract import Channel, Encoded, Encoder, Kind, Raw, Step, silent
from app.encoders.image import ImageEncoder
from app.encoders.pretrained import AUTO, check_installed
from app.encoders.sets import SetEncoder
from app.encoders.table import TableEncoder
from app.encoders.text import TextEncoder
from app.encoders.vectors import VectorEncoder

__all__ = ["ENCODERS", "Channel", "Encoded", "Encoder", "Kind", "Raw", "check_options", "fit", "restore"]

ENCODERS: dict[Kind, type[Encoder]] = {
    encoder.kind: encoder for encoder in (TextEncoder, ImageEncoder, TableEncoder, VectorEncoder, SetEncoder)
}


def fit(
    kind: Kind, raws: Sequence[Raw], options: Mapping[str, Any] | None = None, *, seed: int = 0, on_step: Step = silent
) -> Encoder:
    """An encoder of this kind learnt from a pool: the same for the same pool, options and seed.

    >>> fit("text", ["one fish", "two fish"]).encode(["red fish"]).good
    [0]
    """
    if kind not in ENCODERS:
        raise ValueError(f"kind must be one of {', '.join(ENCODERS)}; got {kind!r}")
    encoder = ENCODERS[kind]
    return encoder.fit(raws, encoder.options_type.model_validate(dict(options or {})), seed, on_step)


def check_options(kind: str, options: Mapping[str, Any]) -> None:
    """Raise a ValueError that says what an encoder of this kind does not take.

    >>> check_options("text", {"hashing": True})
    >>> check_options("auto", {"hashing": True})
    Traceback (most recent call last):
    ValueError: options belong to an encoder that is named: text, image, table, vectors or sets
    """
    encoder = ENCODERS.get(kind)  # type: ignore[call-overload]
    if encoder is None:
        raise ValueError("options belong to an encoder that is named: text, image, table, vectors or sets")
    try:
        found = encoder.options_type.model_validate(dict(options))
    except ValidationError as error:
        known = ", ".join(encoder.options_type.model_fields)
        where = "; ".join(f"{'.'.join(map(str, e['loc']))[:100]}: {e['msg']}" for e in error.errors()[:5])
        raise ValueError(f"encoder_options: {where}; known are {known}") from error
    model = getattr(found, "model", None)
    if model not in (None, AUTO):
        check_installed(model)


def restore(state: bytes) -> Encoder:
    """The encoder whose `state` this is.

    >>> encoder = fit("text", ["one fish", "two fish"])
    >>> restore(encoder.state()).names() == encoder.names()
    True
    """
    header, arrays = archive.unpack(state)
    encoder = ENCODERS.get(header.get("kind"))  # type: ignore[arg-type]
    if encoder is None:
        raise ValueError(f"no encoder of kind {header.get('kind')!r}; there are {', '.join(ENCODERS)}")
    options = encoder.options_type.model_validate(encoder.old_options(header["options"]))
    return encoder.of_arrays(options, arrays)
