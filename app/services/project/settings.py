"""What an owner of a project can set."""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from app.encoders.contract import kernel_channels
from app.services.plain import check_plain
from app.services.project.strategies import STRATEGY_NAMES, Strategy, VarianceName
from core import Settings
from core.queries.losses import LossRule

T = TypeVar("T")

EncoderRule = Literal["none", "auto", "text", "image", "table", "vectors", "sets"]
Positive = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]
ClassWeight = Annotated[float, Field(ge=1e-3, le=1e3, allow_inf_nan=False)]
Cost = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
NAMED = 20  # classes that an error lists, at most


SEARCH: dict[str, Any] = {"noise": 50.0, "bias": 1.0}
"""What suits a search, for each channel with k(x, x) = 1: very smooth, as few labels are wanted ones. It is not tuned,
as the squared error of leave-one-out predictions says little about their order."""
SEARCH_ENCODERS: dict[str, dict[str, Any]] = {"text": {"characters": 0, "pairs": 50_000, "rarity": 2.0}}
"""Options of encoders that suit a search, unless the owner of the project says something else."""


class StrictModel(BaseModel):
    """Nothing that is not known: one error however many strange names there are, which are not repeated."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _only_known(cls, value: Any) -> Any:
        if isinstance(value, dict) and not value.keys() <= cls.model_fields.keys():
            raise ValueError(f"there is an unknown name; the known names are {', '.join(cls.model_fields)}")
        return value


def _names(names: Mapping[str, str]) -> dict[str, Any]:
    """For OpenAPI: what the values of a setting are called on the page; an empty text stands for null."""
    return {"x-names": dict(names)}


class ModelSettings(StrictModel):
    """What the model is made of; a change trains it again. Titles are what people read on the page."""

    model_config = ConfigDict(frozen=True)

    model: Literal["gp", "forest", "auto"] = Field(
        "gp",
        title="Model",
        description="a Gaussian process (gp) over all labels; a forest of decision trees with one in every leaf, for "
        "columns that interact and for very many labels; or auto, which compares both on held-out labels in the "
        "background and says which won. A forest cannot be combined with softmax",
        json_schema_extra=_names({"gp": "Gaussian process", "forest": "Forest", "auto": "Automatic: compare both"}),
    )
    n_trees: Annotated[int, Field(ge=1, le=100)] = Field(
        10, title="Trees", description="trees of a forest; their predictions are averaged"
    )
    leaf_size: Annotated[int, Field(ge=10, le=100_000)] = Field(
        500,
        title="Labels per leaf",
        description="a leaf of a forest is split when it has more labels than this; until then a forest is one model",
    )
    likelihood: Literal["auto", "gaussian", "softmax"] = Field(
        "auto",
        title="Likelihood",
        description="gaussian updates the model exactly in milliseconds after each label; softmax often has the better "
        "probabilities and allows trees of classes, but fits the model again after each label; auto compares both on "
        "later labels in the background, takes softmax where it is surely better and a label stays quick, and says "
        "why",
        json_schema_extra=_names({"auto": "Automatic: compare both", "gaussian": "Gaussian", "softmax": "Softmax"}),
    )
    kernel: Literal["auto", "hik", "rbf", "linear"] | None = Field(
        None,
        title="Kernel",
        description="auto compares all kernels by leave-one-out error and says which won; by default what suits the "
        "encoder (texts and tables have a sum of kernels, pictures histogram intersection), and auto without one",
        json_schema_extra=_names(
            {
                "auto": "Automatic: compare all",
                "hik": "Histogram intersection",
                "rbf": "RBF",
                "linear": "Linear",
                "": "Default",
            }
        ),
    )
    transform: Literal["power", "exp"] | None = Field(
        None,
        title="Transform",
        description="a transform of histogram values; only with kernel hik",
        json_schema_extra=_names({"power": "Power", "exp": "Exponential", "": "None"}),
    )
    eta: Positive = Field(1.0, title="Transform parameter", description="the exponent or rate of the transform")
    noise: Positive = Field(
        0.1, title="Label noise", description="variance of the noise on a label; tuning starts here"
    )
    bias: Annotated[float, Field(ge=0, le=1e12)] | None = Field(
        None, title="Bias", description="prior variance of the constant term; by default 1, or what suits the encoder"
    )
    normalise: bool | None = Field(
        None,
        title="Normalise",
        description="divide the kernel by sqrt(k(x, x) k(y, y)), so that long rows weigh no more; only with kernel "
        "hik; by default what suits the encoder",
        json_schema_extra=_names({"true": "Yes", "false": "No", "": "Default"}),
    )
    complement: bool = Field(
        False,
        title="Add complements",
        description="adds a complement to each column, for features that are not histograms; only with kernel hik",
    )
    levels: Annotated[int, Field(ge=1, le=1_000_000)] | Literal["auto", "few"] | None = Field(
        "auto",
        title="Levels per column",
        description="the number of distinct values that a column may have: a number, auto (all, up to 65,536 over all "
        "columns), few (up to 8,192 over all columns), or null to keep all",
    )
    balance: bool = Field(
        False,
        title="Balance classes",
        description="counts labels of large classes less, against imbalance; not with softmax",
    )
    gamma: Positive | Literal["scale"] = Field(
        "scale", title="RBF gamma", description="gamma of the RBF kernel: a number, or scale as in scikit-learn"
    )
    tune: Literal["loo", "evidence", "none"] = Field(
        "loo",
        title="Tune by",
        description="how hyperparameters are chosen; none keeps them as they are set, which kernel auto cannot. With "
        "softmax always by cross-validation",
        json_schema_extra=_names(
            {"loo": "Leave-one-out error", "evidence": "Marginal likelihood", "none": "Keep them as they are"}
        ),
    )


class ProjectSettings(ModelSettings):
    """All settings of a project, with their defaults."""

    encoder: EncoderRule = Field(
        "none",
        title="Encoder",
        description="what turns raw items into features: none (you send features), text, image, table, vectors, sets, "
        "or auto, which decides by the first import",
    )
    encoder_options: Annotated[dict[str, Any], AfterValidator(check_plain)] = Field(
        {}, title="Encoder options", description="options of the encoder"
    )
    columns: Annotated[int, Field(ge=1, le=10_000_000)] | None = Field(
        None, title="Feature columns", description="by default as many as the first items have"
    )
    goal: Literal["tell apart", "find"] = Field(
        "tell apart",
        title="Goal",
        description="what is to be done: tell all classes apart, or find all items of one class, as in a review of "
        "literature; then the most probable items are asked about first, whatever the strategy",
        json_schema_extra=_names({"tell apart": "Tell the classes apart", "find": "Find all items of one class"}),
    )
    wanted: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        None, title="Wanted class", description="the class whose items are to be found; only with goal find"
    )
    target_recall: Annotated[float, Field(gt=0, le=1)] = Field(
        0.95, title="Share to be found", description="the share of the wanted items that is enough; only with goal find"
    )
    risk: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.05,
        title="Risk",
        description="the probability, at most, that the page says stop although less has been found; only with goal "
        "find",
    )
    patience: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        50,
        title="Labels until a sample",
        description="when so many labels in a row find nothing, items are drawn at random, until one is wanted: only "
        "such a sample shows that it is safe to stop; only with goal find",
    )
    search: Literal["auto", "likely", "random"] = Field(
        "auto",
        title="Search by",
        description="auto: the most probable items first, then a random sample; or always one of the two; only with "
        "goal find",
        json_schema_extra=_names(
            {"auto": "Automatic", "likely": "Most probable first", "random": "Random sample, to see what is left"}
        ),
    )
    strategy: Strategy = Field(
        "unc",
        title="Query strategy",
        description="how the next item is chosen",
        json_schema_extra=_names(STRATEGY_NAMES),
    )
    variance: VarianceName = Field(
        "exact",
        title="Variance in questions",
        description="what strategies variance, unc and unc+ take for the variance: the exact one, which is known of "
        "all items, or an upper bound that orders items differently; rapu and qrapu are for one histogram kernel, and "
        "beyond ten million pairs of item and label qfapu stands in for fapu, which compares them all. Other "
        "strategies, and models without the bound, go by the exact one",
        json_schema_extra=_names(
            {
                "exact": "Exact",
                "fapu": "Upper bound (FAPU)",
                "qfapu": "Quick upper bound (q-FAPU)",
                "rapu": "Rough upper bound (RAPU)",
                "qrapu": "Rough and quick upper bound (q-RAPU)",
            }
        ),
    )
    loss: Literal["log", "class", "parent", "tree"] = Field(
        "log",
        title="What a mistake costs",
        description="what strategy eer expects to lower: the log loss of probabilities, the share of wrong classes, of "
        "wrong parents, or how far off they are in the tree",
        json_schema_extra=_names(
            {
                "log": "Doubt counts, too",
                "class": "Each mistake the same",
                "parent": "Mistakes across parents",
                "tree": "The further off in the tree, the more",
            }
        ),
    )
    costs: dict[str, dict[str, Cost]] = Field(
        {},
        title="Costs of mistakes",
        description="for strategy eer in place of the loss: what it costs to take a class for another, like "
        '{"fraud": {"fine": 10}}; 1 for those that are not named',
    )
    explore: Annotated[float, Field(ge=0, le=1)] | Literal["auto"] = Field(
        "auto",
        title="Random share",
        description="share of items that are drawn at random, from 0 to 1: only they tell how good the model is; auto "
        "draws a fifth of the first hundred and then fewer, and half where the target accuracy may be met and more "
        "draws are needed to be sure",
    )
    target_accuracy: Annotated[float, Field(ge=0.5, le=0.999)] = Field(
        0.95,
        title="Target accuracy",
        description="the share of the items without a label that the model should class right: the page says stop when "
        "it is 97 % sure of that; not with goal find",
    )
    overlap: Annotated[int, Field(ge=1, le=50)] = Field(
        1, title="People per item", description="how many people label each item"
    )
    consensus: Literal["majority", "latest", "agreed"] = Field(
        "majority",
        title="When people disagree",
        description="what the model learns when people disagree: majority (a tie goes to the latest answer), the "
        "latest answer, or nothing until all agree",
        json_schema_extra=_names(
            {"majority": "The majority decides", "latest": "The latest answer counts", "agreed": "Wait until all agree"}
        ),
    )
    class_weights: dict[str, ClassWeight] = Field(
        {},
        title="Class weights",
        description='as how many labels each label of a class counts, by its name, like {"relevant": 10} for a rare '
        "class that is wanted; 1 for classes that are not named",
    )
    lease_seconds: Annotated[float, Field(ge=1, le=86_400)] = Field(
        600.0,
        title="Time to answer",
        description="for how many seconds an item is reserved for the person who got it",
    )
    open_classes: bool = Field(
        False,
        title="Annotators may add classes",
        description="a label that is not a class yet becomes a new class",
    )
    retrain: Literal["auto", "off"] = Field(
        "auto",
        title="Retrain",
        description="auto trains in the background each time the number of labels has grown by half",
        json_schema_extra=_names({"auto": "Automatically", "off": "Only when asked"}),
    )

    def options_for(self, kind: str) -> dict[str, Any]:
        """The options that an encoder of this kind is fitted with."""
        return (SEARCH_ENCODERS.get(kind, {}) if self.goal == "find" else {}) | self.encoder_options

    @property
    def leaves_kernel_open(self) -> bool:
        """Whether the encoder decides on the kernel, and may take several."""
        return self.kernel is None and not self._describes_kernel

    @property
    def _describes_kernel(self) -> bool:
        """Whether the owner says what the one kernel of all columns is like."""
        return self.normalise is not None or self.transform is not None or self.complement or self.model != "gp"

    @property
    def has_intersection_alone(self) -> bool:
        """Whether all columns of an encoder have histogram intersection, which reads no negative numbers."""
        return self.kernel in (None, "hik") and not self.complement and not self.leaves_kernel_open

    @classmethod
    def stored(cls, settings: Mapping[str, Any]) -> "ProjectSettings":
        """As a database has them: projects from before there was a choice of the likelihood keep theirs."""
        return cls.model_validate({"likelihood": "gaussian", **settings}, context={"stored": True})

    def check_classes(self, names: Collection[str]) -> None:
        """Raise a ValueError for a weight of a class that is not among these.

        >>> ProjectSettings(class_weights={"cat": 3}).check_classes(["dog"])
        Traceback (most recent call last):
        ValueError: class_weights names 'cat', which is no class of the project; its classes are 'dog'
        """
        costly = [name for true, decided in self.costs.items() for name in (true, *decided)]
        for setting, named in (("class_weights", list(self.class_weights)), ("costs", costly)):
            unknown = next((name for name in named if name not in names), None)
            if unknown is not None:
                known = ", ".join(map(repr, list(names)[:NAMED])) or "none yet"
                raise ValueError(
                    f"{setting} names {unknown[:200]!r}, which is no class of the project; its classes are {known}"
                )

    def with_class(self, old: str, new: str | None) -> "ProjectSettings":
        """The same where a class has another name, or is gone."""
        costs = _renamed({true: _renamed(decided, old, new) for true, decided in self.costs.items()}, old, new)
        changed = {"class_weights": _renamed(self.class_weights, old, new), "costs": costs}
        return self.model_copy(update={**changed, "wanted": new if self.wanted == old else self.wanted})

    def loss_among(self, classes: Collection[str]) -> LossRule:
        """What strategy eer lowers: the table of costs between these classes if there is one."""
        table = {
            true: {name: cost for name, cost in decided.items() if name in classes}
            for true, decided in self.costs.items()
            if true in classes
        }
        return table if any(table.values()) else self.loss

    def model_parts(
        self, kind: str | None = None, channels: Sequence[int] = (), suited: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """What the model is made of: with the columns of each channel, where an encoder of this kind makes them.

        `suited` is what suits such features, unless the owner of the project says something else.

        >>> ProjectSettings().model_parts()["kernel"], ProjectSettings().model_parts("text", [3, 2])["kernel"]
        ('auto', 'hik')
        """
        model = self.model_dump(include=set(ModelSettings.model_fields))
        defaults = {"kernel": "auto" if kind in (None, "vectors") else "hik", "bias": 1.0, "normalise": False}
        defaults |= suited or {}
        if self._describes_kernel and not isinstance(defaults["kernel"], str):
            defaults["kernel"] = "hik"
        unset = [name for name in defaults if model[name] is None or (name == "levels" and self.levels == "auto")]
        model |= {name: defaults[name] for name in unset}
        if self.goal == "find" and self.likelihood == "auto":
            model["likelihood"] = "gaussian"
        if self.goal == "find" and not isinstance(model["kernel"], str) and model["likelihood"] == "gaussian":
            own = self.model_dump(include={*SEARCH, "tune"}, exclude_defaults=True)
            model |= {name: value * len(model["kernel"]) for name, value in SEARCH.items()} | {"tune": "none"} | own
        return model | ({"channels": list(channels)} if channels and isinstance(model["kernel"], str) else {})


def _renamed(table: Mapping[str, T], old: str, new: str | None) -> dict[str, T]:
    """A table by class where one has another name, or is gone."""
    found = {new if name == old else name: value for name, value in table.items()}
    return {name: value for name, value in found.items() if name is not None}


def learner_settings(model: dict[str, Any]) -> Settings:
    """Checked settings of the learner; a ValueError says what does not go together.

    Channels have a weight each, which training learns.

    >>> learner_settings(ProjectSettings().model_parts("text", [3, 2])).groups.tolist()
    [0, 0, 0, 1, 1]
    """
    options = dict(model)
    channels = options.pop("channels", [])
    _check_combination(options)
    if options["likelihood"] == "softmax":
        options["tune"] = "cv"
    if channels:
        options |= {"groups": np.repeat(np.arange(len(channels)), channels), "tune_weights": len(channels) > 1}
    if not isinstance(options["kernel"], str):
        options["kernel"] = kernel_channels(options["kernel"])
    settings = Settings(**options)
    settings.check()
    return settings


def _check_combination(options: Mapping[str, Any]) -> None:
    """In the words of the settings of a project; the learner has its own."""
    is_softmax, has_forest = options["likelihood"] == "softmax", options["model"] != "gp"
    if is_softmax and has_forest:
        raise ValueError("a forest cannot be combined with softmax. Choose one: model gp, or likelihood gaussian")
    if options["balance"] and (is_softmax or has_forest):
        other = "softmax" if is_softmax else "a forest"
        raise ValueError(f"balance cannot be combined with {other}. Choose one")
    if has_forest and options["tune"] != "loo":
        raise ValueError("a forest is always tuned by leave-one-out error: set tune to loo")
