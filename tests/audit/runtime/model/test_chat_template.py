"""Chat templates of the usual dialects, and those that fail, loop, or would do more than write a prompt."""

import pytest
from support.chat_tokenizers import CHATML, LLAMA_3, MISTRAL, save_chat_tokenizer

from clinaudit.audit.runtime.model import chat_template
from clinaudit.audit.runtime.model.chat_template import find_chat_template
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.errors import BadInputError
from clinaudit.priors.tiers import SYSTEM, RenderedChat, converse

LINES = ["patient: Ada Lund", "cc: cough"]
USER = "This is known of a patient:\npatient: Ada Lund\ncc: cough\n\nWrite the note about this patient."
#: Before the answer, by dialect.
DIALECTS = {
    CHATML: f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n{USER}<|im_end|>\n<|im_start|>assistant\n",
    LLAMA_3: f"<s><|start_header_id|>system<|end_header_id|>\n\nToday Date: 26 Jul 2024\n\n{SYSTEM}<|eot_id|>"
    f"<|start_header_id|>user<|end_header_id|>\n\n{USER}<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
    MISTRAL: f"<s>[INST] {SYSTEM}\n\n{USER} [/INST]",
}


def load(base, directory, template):
    tokenizer = ModelTokenizer(save_chat_tokenizer(base, directory, template))
    found = find_chat_template(tokenizer)
    return tokenizer, found


@pytest.mark.parametrize("dialect", DIALECTS, ids=("chatml", "llama 3", "mistral"))
def test_the_prompt_in_each_dialect(dialect, tokenizer_directory, tmp_path):
    tokenizer, template = load(tokenizer_directory, tmp_path, dialect)
    said = template.render(converse(LINES))
    expected = DIALECTS[dialect]
    assert said.prompt == expected
    # The template's own, and no second one.
    ids = tokenizer.encode(said.prompt)
    assert ids.count(tokenizer.id_of("<s>")) == expected.count("<s>")
    assert tokenizer.encode_prompt(said.prompt).count(tokenizer.id_of("<s>")) > expected.count("<s>")
    assert [role for role, _ in said.messages] == (["user"] if dialect == MISTRAL else ["system", "user"])


@pytest.mark.parametrize(
    ("dialect", "token"), [(CHATML, "<|im_end|>"), (LLAMA_3, "<|eot_id|>"), (MISTRAL, "<|endoftext|>")]
)
def test_the_token_that_ends_a_turn(dialect, token, tokenizer_directory, tmp_path):
    tokenizer, template = load(tokenizer_directory, tmp_path, dialect)
    assert template.stop_token_ids == {tokenizer.id_of(token)}


@pytest.mark.parametrize("system", ["", "{% if m.role == 'system' %}{{ raise_exception('none') }}{% endif %}"])
@pytest.mark.parametrize(
    "part", ["m.content[0]['text']", "(m.content | selectattr('type', 'equalto', 'text') | first).text"]
)
def test_a_template_that_reads_parts_alone_is_given_parts(system, part, tokenizer_directory, tmp_path):
    parts = f"{{% for m in messages %}}{system}<|im_start|>{{{{ {part} }}}}<|im_end|>{{% endfor %}}"
    conversation = converse(LINES)
    said = load(tokenizer_directory, tmp_path, parts)[1].render(conversation)
    assert said.prompt.count(conversation.user) == said.prompt.count(conversation.system) == 1
    assert len(said.messages) == (1 if system else 2)


def test_what_spells_a_control_token_is_not_put_into_the_prompt(tokenizer_directory, tmp_path):
    _, template = load(tokenizer_directory, tmp_path, CHATML)
    assert isinstance(template.render(converse(["cc: <|im_end|>"])), str)
    assert isinstance(template.render(converse(["cc: im_end"])), RenderedChat)


@pytest.mark.parametrize(
    ("template", "what"),
    [
        ("{{ raise_exception('SECRET') }}", "fails (TemplateError)"),
        ("{% for message in messages %}", "fails (TemplateSyntaxError)"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "fails (SecurityError)"),
        ("{% set f = cycler.__init__.__globals__ %}{{ f.os.popen('id').read() }}", "fails (SecurityError)"),
        ("{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}", "fails (RecursionError)"),
        ("{{ messages[0]['content'] }}", "leaves out what is said"),
        ("{{ 'x' }}" * 200_000, "is too long for one"),
        ("{{ messages }}{{ 'x' * 2_000_000 }}", "writes far more than a prompt"),
        ("{% set n = 9 %}{{ (n ** n) ** (n ** n) }}", "takes powers of numbers, which may never end"),
    ],
)
def test_a_template_that_cannot_be_used_is_bad_input(template, what, tokenizer_directory, tmp_path):
    tokenizer = ModelTokenizer(save_chat_tokenizer(tokenizer_directory, tmp_path / "tuned", template))
    with pytest.raises(BadInputError) as caught:
        find_chat_template(tokenizer)
    assert caught.value.message.startswith(f"the chat template of the tokenizer in tuned {what}; ")
    assert "SECRET" not in caught.value.message


def test_a_template_that_loops_is_bad_input(tokenizer_directory, tmp_path, monkeypatch):
    # Each range is within the sandbox's limit.
    loop = "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}"
    tokenizer = ModelTokenizer(save_chat_tokenizer(tokenizer_directory, tmp_path / "tuned", loop))
    monkeypatch.setattr(chat_template, "DEADLINE_S", 0.2)
    with pytest.raises(BadInputError, match=r"tokenizer in tuned does not end within 0\.2 seconds; "):
        find_chat_template(tokenizer)


def test_a_template_that_fails_for_one_patient_is_bad_input(tokenizer_directory, tmp_path):
    fails = "{% if 'Ada' in messages[-1]['content'] %}{{ raise_exception('Ada') }}{% endif %}" + CHATML
    _, template = load(tokenizer_directory, tmp_path, fails)
    with pytest.raises(BadInputError) as caught:
        template.render(converse(LINES))
    assert "Ada" not in caught.value.message
