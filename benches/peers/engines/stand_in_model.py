"""Makes a stand-in for a static embedding model, in the format of model2vec: stand_in_model.py DIRECTORY

It has the shape of semble's default model, 62,500 word pieces × 256 dimensions. The pieces are learned from
the sources of Python's standard library, the weights are random: it costs what a real one costs, and knows
nothing.
"""

import pathlib
import sys
import sysconfig

import numpy
from model2vec import StaticModel
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

N_PIECES, DIM = 62_500, 256


def main():
    sources = sorted(pathlib.Path(sysconfig.get_path("stdlib")).rglob("*.py"))
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=N_PIECES, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator((path.read_text(errors="replace") for path in sources), trainer)
    tokenizer.add_tokens([f"unused{n}" for n in range(N_PIECES - tokenizer.get_vocab_size())])
    vectors = numpy.random.default_rng(1).standard_normal((N_PIECES, DIM), dtype=numpy.float32)
    StaticModel(vectors, tokenizer, normalize=True).save_pretrained(sys.argv[1])


main()
