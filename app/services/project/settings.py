"""What an owner of a project can set."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from app.encoders.contract import kernel_channels
from app.services.plain import check_plain
from app.services.project.strategies import Strategy
from core import Settings

EncoderRule = Literal["none", "auto", "text", "image", "table", "vectors", "sets"]
Positive = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]


class Known(BaseModel):
    """Nothing that is not known: one error however many strange names there are, which are not repeated."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _only_known(cls, value: Any) -> Any:
        if isinstance(value, dict) and not value.keys() <= cls.model_fields.keys():
            raise ValueError(f"there is a name that is not known; known are {', '.join(cls.model_fields)}")
        return value


class ModelSettings(Known):
    """What the model is made of; a change trains it anew."""

    model_config = ConfigDict(frozen=True)

    model: Literal["gp", "forest", "auto"] = Field(
        "gp",
        description="gp is one Gaussian process over all labels; forest grows decision trees and has one in every "
        "leaf, for interactions between columns and for very many labels; auto compares both by held-out labels in "
        "the background and says which won. A forest needs likelihood gaussian",
    )
    n_trees: Annotated[int, Field(ge=1, le=100)] = Field(10, description="trees of a forest, which are averaged")
    leaf_size: Annotated[int, Field(ge=10, le=100_000)] = Field(
        500, description="labels up to which a leaf of a forest is not split; with fewer, a forest is one model"
    )
    likelihood: Literal["gaussian", "softmax"] = Field(
        "gaussian",
        description="gaussian learns each label exactly in milliseconds; softmax gives calibrated probabilities and "
        "knows trees of classes, at the cost of a new fit, from the last, for each label",
    )
    kernel: Literal["auto", "hik", "rbf", "linear"] | None = Field(
        None,
        description="auto compares all of them by leave-one-out error and says which won; by default what suits the "
        "encoder (a sum of kernels, one for each channel, for texts; hik for pictures), and auto without one",
    )
    transform: Literal["power", "exp"] | None = Field(None, description="of histogram values; only with kernel hik")
    eta: Positive = Field(1.0, description="parameter of the transform")
    noise: Positive = Field(0.1, description="variance of the noise on a label, where tuning starts")
    bias: Annotated[float, Field(ge=0, le=1e12)] | None = Field(
        None, description="variance of the constant term; by default 1, or what suits the encoder"
    )
    normalise: bool | None = Field(
        None,
        description="divide the kernel by sqrt(k(x, x) k(y, y)), so that long rows weigh no more; only with kernel "
        "hik; by default what suits the encoder",
    )
    complement: bool = Field(False, description="for features that are not histograms; only with kernel hik")
    levels: Annotated[int, Field(ge=1, le=1_000_000)] | Literal["auto", "few"] | None = Field(
        "auto",
        description="distinct values a column may have; auto keeps all up to 65,536 over all columns, few 8,192, and "
        "null keeps all",
    )
    balance: bool = Field(
        False, description="more noise for larger classes, against imbalance; not with likelihood softmax"
    )
    gamma: Positive | Literal["scale"] = Field("scale", description="of the RBF kernel")
    tune: Literal["loo", "evidence"] = Field(
        "loo", description="what hyperparameters are chosen by; with likelihood softmax always cross-validation"
    )


class ProjectSettings(ModelSettings):
    """All settings of a project, with their defaults."""

    encoder: EncoderRule = Field(
        "none",
        description="what makes features of raw items: none (features are sent), text, image, table, vectors, sets, "
        "or auto, which looks at the first import",
    )
    encoder_options: Annotated[dict[str, Any], AfterValidator(check_plain)] = Field(
        {}, description="of the encoder that is named"
    )
    columns: Annotated[int, Field(ge=1, le=10_000_000)] | None = Field(
        None, description="feature columns; by default as many as the first items have"
    )
    strategy: Strategy = Field("unc", description="how the next item is chosen")
    explore: Annotated[float, Field(ge=0, le=1)] = Field(
        0.05, description="share of items drawn at random, which keeps the estimates of accuracy honest"
    )
    overlap: Annotated[int, Field(ge=1, le=50)] = Field(1, description="people who label each item")
    consensus: Literal["majority", "latest", "agreed"] = Field(
        "majority",
        description="what the model learns when people differ: the class most people chose (of equal ones the one "
        "named last), the one named last, or nothing until all agree",
    )
    lease_seconds: Annotated[float, Field(ge=1, le=86_400)] = Field(
        600.0, description="how long an item is promised to the person it was given to"
    )
    open_classes: bool = Field(False, description="whether a label may name a new class")
    retrain: Literal["auto", "off"] = Field(
        "auto", description="train in the background when labels have grown by half"
    )

    def model_parts(
        self, kind: str | None = None, channels: Sequence[int] = (), suited: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """What the model is made of: with the columns of each channel, where an encoder of this kind makes them.

        `suited` is what suits such features, unless the owner of the project says something else.

        >>> ProjectSettings().model_parts()["kernel"], ProjectSettings().model_parts("text", [3, 2])["kernel"]
        ('auto', 'hik')
        """
        model = self.model_dump(include=set(ModelSettings.model_fields))
        wishes = {"kernel": "auto" if kind in (None, "vectors") else "hik", "bias": 1.0, "normalise": False}
        wishes |= suited or {}
        one = self.normalise is not None or self.transform is not None or self.complement or self.model != "gp"
        if one and not isinstance(wishes["kernel"], str):
            wishes["kernel"] = "hik"  # of all columns, as the owner describes it
        unset = [name for name in wishes if model[name] is None or (name == "levels" and self.levels == "auto")]
        model |= {name: wishes[name] for name in unset}
        return model | ({"channels": list(channels)} if channels and isinstance(model["kernel"], str) else {})


def learner_settings(model: dict[str, Any]) -> Settings:
    """Checked settings of the learner; a ValueError says what does not go together.

    Channels have a weight each, which training learns.

    >>> learner_settings(ProjectSettings().model_parts("text", [3, 2])).groups.tolist()
    [0, 0, 0, 1, 1]
    """
    options = dict(model)
    channels = options.pop("channels", [])
    if options["likelihood"] == "softmax":
        options["tune"] = "cv"
    if channels:
        options |= {"groups": np.repeat(np.arange(len(channels)), channels), "tune_weights": len(channels) > 1}
    if not isinstance(options["kernel"], str):
        options["kernel"] = kernel_channels(options["kernel"])
    settings = Settings(**options)
    settings.check()
    return settings
