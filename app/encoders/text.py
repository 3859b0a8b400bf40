"""Texts as histograms of words and of character n-grams, and as vectors of a pretrained model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import Field

from app.encoders import archive
from app.encoders.contract import Arrays, Channel, Encoded, Encoder, Options, Raw, Step, silent
from app.encoders.pretrained import AUTO, KERNEL, MODEL, ModelName, Pretrained, chosen, cut
from core._types import Floats

Terms = Literal["words", "pairs", "characters"]
BETWEEN = ". "  # columns of a text that are read as one
PORTION = 1000  # texts between two steps
BIAS = 1e-2  # variance of the constant term: with more, frequent classes drown the others where there are several
Size = Annotated[int, Field(ge=0, le=1_000_000)]
NGram = Annotated[int, Field(ge=1, le=10)]
Power = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]


class TextOptions(Options):
    """Columns, and what is counted in them."""

    words: Size = Field(30_000, description="columns of words at most; 0 leaves them out")
    pairs: Size = Field(0, description="columns of two words in a row at most; 0 leaves them out")
    characters: Size = Field(30_000, description="columns of character n-grams at most; 0 leaves them out")
    word_length: NGram = Field(1, description="words in a row that are counted together, at most")
    shortest: NGram = Field(3, description="characters of the shortest n-gram")
    longest: NGram = Field(5, description="characters of the longest n-gram")
    least: Annotated[int, Field(ge=1)] = Field(2, description="texts that must have a word or n-gram")
    sublinear: bool = Field(True, description="count n times as 1 + log n")
    form: Literal["weighted", "shares"] = Field(
        "weighted", description="counts times how rare a term is (idf), or counts as shares of the text"
    )
    rarity: Power = Field(1.0, description="the power of idf: with more than 1, rare terms count for more")
    hashing: bool = Field(False, description="hash into the columns instead of learning a vocabulary")
    column: str | tuple[str, ...] | None = Field(
        None, description="of a csv or jsonl file with the texts, or several of them; by default they are guessed"
    )
    apart: bool = Field(False, description="several columns of texts have channels of their own, or are read as one")
    sample: Annotated[int, Field(ge=1)] = Field(20_000, description="texts that the vocabulary is learnt from, at most")
    model: ModelName = Field(AUTO, description=MODEL)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """One channel: the terms that are counted, one per column; None where they are hashed into the columns.

    `weights` are log((1 + N) / (1 + df)) + 1 of a column that df of N texts have.
    """

    kind: Terms
    terms: list[str] | None
    weights: Floats  # one per column
    source: str | None = None  # the column of the file that it reads; None for all

    @property
    def columns(self) -> int:
        """How many there are."""
        return len(self.weights)

    @property
    def name(self) -> str:
        """Of the channel."""
        return self.kind if self.source is None else f"{self.source}: {self.kind}"

    def vectorizer(self, options: TextOptions) -> Any:
        """Counts the terms of each text."""
        from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

        given = _analysis(self.kind, options)
        if self.terms is None:
            return HashingVectorizer(n_features=self.columns, alternate_sign=False, norm=None, **given)
        return CountVectorizer(vocabulary=self.terms, **given)

    def histograms(self, counts: Any, options: TextOptions) -> Any:
        """Rows of numbers from counts."""
        counts = counts.tocsr().astype(np.float64)
        if options.sublinear:
            counts.data = 1.0 + np.log(counts.data)
        if options.form == "shares":
            from sklearn.preprocessing import normalize

            return normalize(counts, "l1")
        counts.data *= self.weights[counts.indices] ** options.rarity
        return counts


@dataclass(frozen=True, eq=False)
class TextEncoder(Encoder):
    """Counts words, pairs of them and character n-grams, in a channel each; a pretrained model has the last one.

    A text may come in several columns, the main one first. One that comes alone, without a column, is in the main one.
    """

    options: TextOptions
    vocabularies: tuple[Vocabulary, ...]
    pretrained: Pretrained | None = None

    kind: ClassVar = "text"
    options_type: ClassVar = TextOptions

    @classmethod
    def fit(cls, raws: Sequence[Raw], options: TextOptions, seed: int, on_step: Step) -> Self:
        """Choose the terms that most texts of the pool have; equal ones in alphabetical order."""
        if options.longest < options.shortest:
            raise ValueError(f"longest must be at least shortest; got {options.longest} and {options.shortest}")
        several = next((tuple(raw) for raw in raws if isinstance(raw, Mapping)), None)
        options = options if several is None else options.model_copy(update={"column": several})
        texts = [raw for raw in raws if _reason(raw, options) is None]
        if not texts:
            raise ValueError(f"none of the {len(raws)} items is a text to learn words from")
        if len(texts) > options.sample:
            rows = np.random.default_rng(seed).choice(len(texts), options.sample, replace=False)
            texts = [texts[row] for row in np.sort(rows)]
        model = chosen(options.model, "text")
        pretrained = None if model is None else Pretrained.of(model, "text")
        found = [
            _learn(kind, size, _read(texts, source, options), options, source)
            for source in _sources(options)
            for kind, size in _sizes(options).items()
        ]
        on_step(len(raws))
        kept = tuple(vocabulary for vocabulary in found if vocabulary.columns)
        if not kept and pretrained is None:
            raise ValueError("the texts have no word or n-gram in common; set least to 1 or words and characters above")
        return cls(options.model_copy(update={"model": model}), kept, pretrained)

    @classmethod
    def of_arrays(cls, options: TextOptions, arrays: Arrays) -> Self:
        """Terms and weights, channel by channel."""
        known = []
        for source in _sources(options):
            for kind, size in _sizes(options).items():
                name = _array_name(kind, source, options)
                if options.hashing or name in arrays:
                    terms = None if options.hashing else archive.texts_of_bytes(arrays[name])
                    columns = size if terms is None else len(terms)
                    weights = arrays.get(f"{name}_weights", np.ones(columns))
                    known.append(Vocabulary(kind, terms, weights, source))
        return cls(options, tuple(known), Pretrained.of_arrays(options.model, arrays))

    @classmethod
    def old_options(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Options of an encoder that was stored before there were forms, models, and several columns."""
        return {"form": "shares", "model": None} | options

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Words, then pairs, then characters, of one column of the file after the other, then the embedding."""
        counted = tuple(Channel(vocabulary.name, vocabulary.columns) for vocabulary in self.vocabularies)
        return counted + (() if self.pretrained is None else (self.pretrained.channel,))

    @property
    def needs_model(self) -> bool:
        """With an embedding."""
        return self.pretrained is not None

    @property
    def reads_columns(self) -> bool:
        """Where texts have several."""
        return len(texts_of(self.options.column)) > 1

    def encode(self, raws: Sequence[Raw], on_step: Step = silent) -> Encoded:
        """A sparse row for each text."""
        broken = {place: reason for place, raw in enumerate(raws) if (reason := _reason(raw, self.options))}
        good = [place for place in range(len(raws)) if place not in broken]
        if self.pretrained is None:
            return Encoded(self._counts(raws, good, on_step), good, broken)
        counts = self._counts(raws, good, silent)  # which takes next to no time beside a network
        vectors = self.pretrained.embed(_read([raws[place] for place in good], None, self.options), cut, on_step)
        return Encoded(sp.hstack([counts, vectors], format="csr"), good, broken)

    def _counts(self, raws: Sequence[Any], good: Sequence[int], on_step: Step) -> Any:
        """Histograms of all vocabularies, side by side."""
        counters = [vocabulary.vectorizer(self.options) for vocabulary in self.vocabularies]
        columns = sum(vocabulary.columns for vocabulary in self.vocabularies)
        portions = [sp.csr_matrix((0, columns))]
        for first in range(0, len(good), PORTION):
            places = good[first : first + PORTION]
            texts = [raws[place] for place in places]
            parts = [sp.csr_matrix((len(texts), 0))]
            for vocabulary, counter in zip(self.vocabularies, counters, strict=True):
                counts = counter.transform(_read(texts, vocabulary.source, self.options))
                parts.append(vocabulary.histograms(counts, self.options))
            portions.append(sp.hstack(parts, format="csr"))
            on_step(places[-1] + 1)
        return sp.vstack(portions, format="csr")

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Terms and weights, channel by channel."""
        arrays: dict[str, NDArray[Any]] = {}
        for vocabulary in self.vocabularies:
            name = _array_name(vocabulary.kind, vocabulary.source, self.options)
            if vocabulary.terms is not None:
                arrays[name] = archive.texts_to_bytes(vocabulary.terms)
            arrays[f"{name}_weights"] = vocabulary.weights
        return arrays | ({} if self.pretrained is None else self.pretrained.arrays())

    def model(self) -> dict[str, Any]:
        """Each channel normalised by itself; shares of texts of many lengths have many values, of which 8 will do."""
        shares = self.options.form == "shares"
        if shares and self.pretrained is None:
            return {"levels": 8}
        kernels = self.kernels(**({"levels": 8} if shares else {"normalise": True}))
        if self.pretrained is not None:
            kernels[-1] = {"columns": kernels[-1]["columns"]} | KERNEL
        return {"kernel": kernels, "bias": BIAS, "bias_of_two": 1.0}

    def names(self) -> list[str] | None:
        """The words and n-grams; nothing where they are hashed."""
        if self.options.hashing:
            return None
        terms = [
            term if vocabulary.source is None else f"{vocabulary.source}: {term}"
            for vocabulary in self.vocabularies
            for term in vocabulary.terms or []
        ]
        return terms + ([] if self.pretrained is None else self.pretrained.column_names())

    def describe(self) -> dict[str, Any]:
        """The description, with the checksum of the model."""
        return super().describe() | ({} if self.pretrained is None else {"checksum": self.pretrained.checksum})


def texts_of(column: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns that an option names.

    >>> texts_of("text"), texts_of(["abstract", "title"]), texts_of(None)
    (('text',), ('abstract', 'title'), ())
    """
    return () if column is None else (column,) if isinstance(column, str) else tuple(column)


def joined(cells: Mapping[str, str]) -> str:
    """Columns as one text: the first one last, as an abstract follows its title.

    >>> joined({"abstract": "It is.", "title": "A cat"})
    'A cat. It is.'
    """
    main, *others = cells.values()
    return BETWEEN.join(filter(None, [*others, main]))


def _reason(raw: Raw, options: TextOptions) -> str | None:
    """Why this is not a text to encode."""
    if isinstance(raw, Mapping) and len(texts := texts_of(options.column)) > 1:
        return None if any(raw.get(column, "").strip() for column in texts) else "the text is empty"
    if not isinstance(raw, str):
        return f"expected a text, got {type(raw).__name__}"
    return None if raw.strip() else "the text is empty"


def _read(raws: Sequence[Any], source: str | None, options: TextOptions) -> list[str]:
    """What is in a column of each text, or in all of them."""
    main, *others = texts_of(options.column) or ("",)
    cells = [{main: raw} if isinstance(raw, str) else raw for raw in raws]
    if source is not None:
        return [cell.get(source, "") for cell in cells]
    return [joined({column: cell.get(column, "") for column in (main, *others)}) for cell in cells]


def _sources(options: TextOptions) -> tuple[str | None, ...]:
    """The columns that have channels of their own; None for one that reads all."""
    texts = texts_of(options.column)
    return texts if options.apart and len(texts) > 1 else (None,)


def _array_name(kind: Terms, source: str | None, options: TextOptions) -> str:
    return kind if source is None else f"{kind}_of_{texts_of(options.column).index(source)}"


def _sizes(options: TextOptions) -> dict[Terms, int]:
    """The channels that are wanted, and their most columns."""
    sizes: dict[Terms, int] = {"words": options.words, "pairs": options.pairs, "characters": options.characters}
    return {name: size for name, size in sizes.items() if size}


def _analysis(kind: Terms, options: TextOptions) -> dict[str, Any]:
    """How a text is taken apart, as scikit-learn's vectorizers name it."""
    if kind != "characters":
        lengths = (2, 2) if kind == "pairs" else (1, options.word_length)
        return {"analyzer": "word", "ngram_range": lengths, "token_pattern": r"\w+|[^\w\s]"}
    return {"analyzer": "char_wb", "ngram_range": (options.shortest, options.longest)}


def _learn(kind: Terms, size: int, texts: Sequence[str], options: TextOptions, source: str | None) -> Vocabulary:
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

    given = _analysis(kind, options)
    if options.hashing:
        counter = HashingVectorizer(n_features=size, alternate_sign=False, norm=None, binary=True, **given)
        return Vocabulary(kind, None, _rarity(counter.transform(texts)), source)
    counter = CountVectorizer(binary=True, **given)
    try:
        found = counter.fit_transform(texts)
    except ValueError:  # the texts have nothing but white space of this kind
        return Vocabulary(kind, [], np.empty(0), source)
    frequency = np.asarray(found.sum(axis=0)).ravel()
    order = np.argsort(-frequency, kind="stable")[:size]
    order = np.sort(order[frequency[order] >= min(options.least, len(texts))])
    terms: list[str] = counter.get_feature_names_out()[order].tolist()
    return Vocabulary(kind, terms, _rarity(found)[order], source)


def _rarity(found: Any) -> Floats:
    """log((1 + N) / (1 + df)) + 1 of each column, where df of N texts have it: scikit-learn's smooth idf."""
    frequency = np.asarray((found > 0).sum(axis=0)).ravel()
    return np.asarray(np.log((1.0 + found.shape[0]) / (1.0 + frequency)) + 1.0)
