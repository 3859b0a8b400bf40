"""Tiny models of sentence-transformers, made on the spot: their vectors mean nothing, but they are vectors."""

import os

import pytest

from app.encoders.pretrained import is_installed

EXPECTED = "ASKNEXT_TEST_EMBEDDINGS" in os.environ  # `make test-embeddings`, where nothing may be skipped
with_extra = pytest.mark.skipif(
    not (EXPECTED or is_installed()), reason="needs pip install 'asknext[embeddings]': `make test-embeddings` has it"
)
TOPICS = ["goal", "match", "team", "ball", "win", "bread", "soup", "cake", "salt", "spoon"]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *TOPICS]
SIZE = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


def _tokenizer(folder, longest):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "bos_token": "[CLS]", "eos_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=longest, **names).save_pretrained(folder)


def text_model(folder, seed=0):
    """The folder of a model of texts with 16 columns."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    _tokenizer(folder, 64)
    BertModel(BertConfig(vocab_size=len(WORDS), max_position_embeddings=64, **SIZE)).save_pretrained(folder)
    return folder


def picture_model(folder, seed=0):
    """The folder of a CLIP model with 12 columns."""
    import torch
    from transformers import CLIPConfig, CLIPImageProcessorPil, CLIPModel

    torch.manual_seed(seed)
    _tokenizer(folder, 16)
    texts = SIZE | {"vocab_size": len(WORDS), "max_position_embeddings": 16}
    pictures = SIZE | {"image_size": 32, "patch_size": 8}
    CLIPModel(CLIPConfig(text_config=texts, vision_config=pictures, projection_dim=12)).save_pretrained(folder)
    size = {"height": 32, "width": 32}
    CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=size).save_pretrained(folder)
    return folder
