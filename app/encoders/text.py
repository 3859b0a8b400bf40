"""Texts as histograms of words and of character n-grams."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import Field

from app.encoders import archive
from app.encoders.contract import Arrays, Channel, Encoded, Encoder, Options, Raw, Step, silent

ChannelName = Literal["words", "characters"]
PORTION = 1000  # texts between two steps
Size = Annotated[int, Field(ge=0, le=1_000_000)]
NGram = Annotated[int, Field(ge=1, le=10)]


class TextOptions(Options):
    """Columns, and what is counted in them."""

    words: Size = Field(2000, description="columns of words at most; 0 leaves them out")
    characters: Size = Field(2000, description="columns of character n-grams at most; 0 leaves them out")
    word_length: NGram = Field(1, description="words in a row that are counted together, at most")
    shortest: NGram = Field(1, description="characters of the shortest n-gram")
    longest: NGram = Field(3, description="characters of the longest n-gram")
    least: Annotated[int, Field(ge=1)] = Field(2, description="texts that must have a word or n-gram")
    sublinear: bool = Field(True, description="count n times as 1 + log n")
    hashing: bool = Field(False, description="hash into the columns instead of learning a vocabulary")
    column: str | None = Field(None, description="of a csv or jsonl file with the texts; by default it is guessed")
    sample: Annotated[int, Field(ge=1)] = Field(20_000, description="texts that the vocabulary is learnt from, at most")


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """One channel: the terms that are counted, one per column; None where they are hashed into the columns."""

    name: ChannelName
    columns: int
    terms: list[str] | None

    def vectorizer(self, options: TextOptions) -> Any:
        """Counts the terms of each text."""
        from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

        given = _analysis(self.name, options)
        if self.terms is None:
            return HashingVectorizer(n_features=self.columns, alternate_sign=False, norm=None, **given)
        return CountVectorizer(vocabulary=self.terms, **given)


@dataclass(frozen=True, eq=False)
class TextEncoder(Encoder):
    """Counts words and character n-grams; each of the two channels of a row sums to 1."""

    options: TextOptions
    vocabularies: tuple[Vocabulary, ...]

    kind: ClassVar = "text"
    options_type: ClassVar = TextOptions

    @classmethod
    def fit(cls, raws: Sequence[Raw], options: TextOptions, seed: int, on_step: Step) -> Self:
        """Choose the terms that most texts of the pool have; equal ones in alphabetical order."""
        if options.longest < options.shortest:
            raise ValueError(f"longest must be at least shortest; got {options.longest} and {options.shortest}")
        texts = [raw for raw in raws if _reason(raw) is None]
        if not texts:
            raise ValueError(f"none of the {len(raws)} items is a text to learn words from")
        if len(texts) > options.sample:
            rows = np.random.default_rng(seed).choice(len(texts), options.sample, replace=False)
            texts = [texts[row] for row in np.sort(rows)]
        found = [_learn(name, size, texts, options) for name, size in _sizes(options).items()]
        on_step(len(raws))
        kept = tuple(vocabulary for vocabulary in found if vocabulary.columns)
        if not kept:
            raise ValueError("the texts have no word or n-gram in common; set least to 1 or words and characters above")
        return cls(options, kept)

    @classmethod
    def of_arrays(cls, options: TextOptions, arrays: Arrays) -> Self:
        """Terms, channel by channel."""
        sizes = _sizes(options)
        if options.hashing:
            return cls(options, tuple(Vocabulary(name, size, None) for name, size in sizes.items()))
        known = {name: archive.texts_of_bytes(arrays[name]) for name in sizes if name in arrays}
        return cls(options, tuple(Vocabulary(name, len(terms), terms) for name, terms in known.items()))

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Words, then characters."""
        return tuple(Channel(vocabulary.name, vocabulary.columns) for vocabulary in self.vocabularies)

    def encode(self, raws: Sequence[Raw], on_step: Step = silent) -> Encoded:
        """A sparse row for each text."""
        broken = {place: reason for place, raw in enumerate(raws) if (reason := _reason(raw))}
        good = [place for place in range(len(raws)) if place not in broken]
        counters = [vocabulary.vectorizer(self.options) for vocabulary in self.vocabularies]
        columns = sum(channel.columns for channel in self.channels)
        portions = [sp.csr_matrix((0, columns))]
        for first in range(0, len(good), PORTION):
            places = good[first : first + PORTION]
            texts = [raws[place] for place in places]
            parts = [_histograms(counter.transform(texts), self.options) for counter in counters]
            portions.append(sp.hstack(parts, format="csr"))
            on_step(places[-1] + 1)
        return Encoded(sp.vstack(portions, format="csr"), good, broken)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Terms, channel by channel."""
        return {
            vocabulary.name: archive.texts_to_bytes(vocabulary.terms)
            for vocabulary in self.vocabularies
            if vocabulary.terms is not None
        }

    def settings(self) -> dict[str, Any]:
        """Shares of texts of many lengths have many values; fewer than 8 a column cost accuracy."""
        return {**super().settings(), "levels": 8}

    def names(self) -> list[str] | None:
        """The words and n-grams; nothing where they are hashed."""
        if self.options.hashing:
            return None
        return [term for vocabulary in self.vocabularies for term in vocabulary.terms or []]


def _reason(raw: Raw) -> str | None:
    """Why this is not a text to encode."""
    if not isinstance(raw, str):
        return f"expected a text, got {type(raw).__name__}"
    return None if raw.strip() else "the text is empty"


def _sizes(options: TextOptions) -> dict[ChannelName, int]:
    """The channels that are wanted, and their most columns."""
    sizes: dict[ChannelName, int] = {"words": options.words, "characters": options.characters}
    return {name: size for name, size in sizes.items() if size}


def _analysis(name: str, options: TextOptions) -> dict[str, Any]:
    """How a text is taken apart, as scikit-learn's vectorizers name it."""
    if name == "words":
        return {"analyzer": "word", "ngram_range": (1, options.word_length), "token_pattern": r"\w+|[^\w\s]"}
    return {"analyzer": "char_wb", "ngram_range": (options.shortest, options.longest)}


def _learn(name: ChannelName, size: int, texts: Sequence[Any], options: TextOptions) -> Vocabulary:
    from sklearn.feature_extraction.text import CountVectorizer

    if options.hashing:
        return Vocabulary(name, size, None)
    counter = CountVectorizer(binary=True, **_analysis(name, options))
    try:
        frequency = np.asarray(counter.fit_transform(texts).sum(axis=0)).ravel()
    except ValueError:  # the texts have nothing but white space of this kind
        return Vocabulary(name, 0, [])
    order = np.argsort(-frequency, kind="stable")[:size]
    order = np.sort(order[frequency[order] >= min(options.least, len(texts))])
    terms: list[str] = counter.get_feature_names_out()[order].tolist()
    return Vocabulary(name, len(terms), terms)


def _histograms(counts: Any, options: TextOptions) -> Any:
    """Rows that sum to 1, or to 0 where a text has no known term."""
    from sklearn.preprocessing import normalize

    counts = counts.tocsr().astype(np.float64)
    if options.sublinear:
        counts.data = 1.0 + np.log(counts.data)
    return normalize(counts, "l1")
