"""The records of the claims: well formed, each with a verdict that its checks and its evidence bear out."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import outside_packages
import pytest
from command_line import run

from optsched import UsageError, claims, figure, figures
from optsched.core.resources import folder
from optsched.instances.library import library
from optsched.measuring.judging import PAPERS, VERDICTS, WAYS, Claim, Paper, claim

ROOT = Path(__file__).resolve().parents[3]
CLAIMS = claims()

#: Evidence that is a command; each is run below.
COMMANDS = ["optsched solve papers/hsu-workload --problem flow"]

#: Verdicts that checks of these truths bear out.
OF_CHECKS = {"holds": {True}, "fails": {False}, "depends": {True, False}}


def test_all_claims_of_the_review_are_here() -> None:
    """Tests that each paper has its claims, under ids of their own, each with a verdict and a reason."""
    assert Counter(one.paper for one in CLAIMS) == {
        "Shen et al. 2016": 44,
        "Sharmilarani et al.": 32,
        "Hsu and Freeh": 31,
        "Guo et al. 2012": 47,
        "Agosta et al.": 41,
        "Fischer et al. 2010": 4,
    }
    assert len({one.id for one in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize("paper", PAPERS)
def test_records_are_well_formed(paper: str) -> None:
    """Tests ids, verdicts, ways, reasons that are sentences, and evidence that exists."""
    for one in PAPERS[paper].claims:
        assert re.fullmatch(rf"{paper}/[\w.]+(-[\w.]+)+", one.id), one.id
        assert one.verdict in VERDICTS, one.id
        assert one.way in WAYS, one.id
        assert one.place, one.id
        assert not one.claim.endswith("."), one.id
        assert one.why.endswith("."), one.id
        assert one.why.count(". ") <= 2, f"{one.id}: a reason in three sentences at most"
        for evidence in one.evidence:
            known = evidence in library() or (ROOT / evidence).exists() or evidence in COMMANDS
            assert known, f"{one.id}: {evidence}"


@pytest.mark.parametrize("one", [one for one in CLAIMS if one.checks], ids=lambda one: one.id)
def test_checks_bear_the_verdict_out(one: Claim) -> None:
    """Tests that what the checks came to is the verdict, where the verdict follows from them."""
    truths = {check.holds for check in one.checks}
    assert one.verdict not in OF_CHECKS or truths == OF_CHECKS[one.verdict], one.id


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command: str) -> None:
    """Tests that a command that is named as evidence ends well, and that a record names it."""
    assert run(*command.split()[1:]).exit_code == 0
    assert any(command in one.evidence for one in CLAIMS)


#: Claims that a judge judges, each set of checks once.
JUDGED = list({repr(one.checks): one for one in reversed(CLAIMS) if one.checks}.values())[::-1]

#: Claims that take seconds to judge: they are judged at length.
AT_LENGTH = (
    "shen-2016/1-launch-remote",
    "shen-2016/2.2-extrapolated",
    "shen-2016/2.2-rates",
    "shen-2016/3.1-more-jobs-completed",
    "shen-2016/3.3-coupling-postponed",
    "shen-2016/3.3-local-shares",
    "shen-2016/abstract-utilisation",
    "guo-2012/4.3-real-trace",
)

#: Claims that one draw of each family decides as all draws do, which are judged at length.
BY_ONE_DRAW = (
    "shen-2016/1-delay-idle",
    "shen-2016/3.1-reason-waiting",
    "shen-2016/5-optimality-open",
    "sharmilarani/2-own-queues",
    "sharmilarani/2-rounds-of-large-jobs",
    "sharmilarani/3-dynamic-slots",
    "sharmilarani/3-no-stragglers",
    "hsu-freeh/5.2-elapsed",
    "hsu-freeh/5.2-task-times",
    "hsu-freeh/5.2-deviations",
    "guo-2012/3.3-more-idle",
    "guo-2012/4.1-best-replication",
    "guo-2012/4.3-worst-at-equal",
    "guo-2012/4.5-hpc-worst",
    "agosta/4.1-round-robin-dominated",
    "agosta/4.3-stable",
    "agosta/4.4-merging-latency",
)


def judged(one: Claim, seeds: int | None = None) -> None:
    """The judgement of a claim comes to its verdict, by so many draws or by those of its checks."""
    judgement = one.judge(seeds=seeds)
    assert judgement.holds, f"judged now: {judgement.verdict}\n" + "\n".join(map(str, judgement.findings))
    assert judgement.verdict == one.verdict


@pytest.mark.parametrize(
    "one", [pytest.param(one, id=one.id, marks=[pytest.mark.thorough] * (one.id in AT_LENGTH)) for one in JUDGED]
)
@pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")
def test_verdict_holds(one: Claim) -> None:
    """Tests that the quick judgement of each claim comes to its verdict."""
    judged(one, seeds=1 if one.id in BY_ONE_DRAW else None)


@pytest.mark.thorough
@pytest.mark.parametrize("name", BY_ONE_DRAW)
def test_verdict_of_all_draws_holds(name: str) -> None:
    """Tests the same of all draws where the quick test takes one."""
    judged(claim(name))


#: A number of a reason, not one in a name or in the number of an equation.
NUMBER = re.compile(r"(?<![\w.(])\d[\d,]*(?:\.\d+)?(?![\w(])")


def numbers(text: str) -> set[str]:
    """The numbers of a text, without commas."""
    return {number.replace(",", "") for number in NUMBER.findall(text)}


@pytest.mark.parametrize("paper", PAPERS)
def test_numbers_of_reasons(paper: str) -> None:
    """Tests that what a reason says of draws or runs is quoted from what is kept, or names its command.

    Other numbers are those of the record itself.
    """
    text = (folder("instances") / "claims" / f"{paper}.toml").read_text(encoding="utf-8")
    for key, record in tomllib.loads(text)["claims"].items():
        one = claim(f"{paper}/{key}")
        assert "{" not in one.why, f"{one.id}: optsched claims {one.id} --judge --effort full --keep FILE"
        if record["way"] not in {"sweep", "runs"}:
            continue
        checks = (re.sub(r"[^\w.]", " ", str(check)) for check in one.checks)
        own = " ".join((one.claim, one.place, one.region, *checks))
        written = numbers(re.sub(r"`[^`]*`|\{[^}]*\}", "", record["why"]))
        kept = {
            f"{number:{form}}"
            for found in one.in_full
            for row in found.numbers.values()
            for number in row
            for form in (".0f", ".1f", "g")
            if number > 1
        }
        strange = written - numbers(own) if "`optsched " not in record["why"] else set()
        assert not (written - numbers(own)) & kept, f"{one.id}: quote what is kept, such as {{0.name[0]:.0f}}"
        assert not strange, f"{one.id}: name the command that gives {strange}"


@pytest.mark.parametrize(("select", "word"), [(claims, "LOCALITY"), (figures, "locality")])
def test_selection_of_claims_and_figures(select: Callable[..., tuple[Any, ...]], word: str) -> None:
    """Tests that paper and words select together, in any case, and that one word needs no list."""
    found = select("guo-2012", words=word)
    assert found
    assert found == select("guo-2012", words=[word])
    assert {one.paper for one in found} == {"Guo et al. 2012"}
    assert set(map(id, found)) <= set(map(id, select(words=[word])))
    assert select(words=["zebra"]) == ()


@pytest.mark.parametrize(("select", "find"), [(claims, claim), (figures, figure)])
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda select, find: select("guo-2021"), 'no paper .*did you mean "guo-2012"'),
        (lambda select, find: select(3), "a paper has a name, a text"),
        (lambda select, find: select(words=3), "words are texts"),
        (lambda select, find: find("guo-2012/4aa"), "no (claim|figure) "),
        (lambda select, find: find("nothing"), "optsched (claims|figure) lists all"),
        (lambda select, find: find(None), "has an id, a text"),
    ],
)
def test_wrong_selections(
    select: Callable[..., Any], find: Callable[..., Any], call: Callable[..., Any], message: str
) -> None:
    """Tests that each wrong argument is wrong usage that says what is known."""
    with pytest.raises(UsageError, match=message):
        call(select, find)


def test_selection() -> None:
    """Tests claims by verdict and words, and with the paper."""
    assert {one.verdict for one in claims(verdict="ceiling")} == {"ceiling"}
    assert "agosta/3.4-theorem-1" in {one.id for one in claims(words=["W_REM", "loads"])}
    assert claims("agosta", "ceiling") == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: claims(verdict=True), "a verdict is a text"),
        (lambda: claims(verdict="true"), 'no verdict "true"; known: holds'),
        (lambda: claim("agosta/theorem-1"), "no claim .*did you mean agosta/3.4-theorem-1"),
        (lambda: claim("shen-2016/5-future").judge(), "no judge runs for this claim; its verdict is by review"),
    ],
)
def test_wrong_arguments(call: object, message: str) -> None:
    """Tests that each wrong argument is wrong usage that says what is known."""
    assert callable(call)
    with pytest.raises(UsageError, match=message):
        call()


def test_the_page_is_printed_from_the_records() -> None:
    """Tests that docs/claims.md is what the command prints."""
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert page == run("claims", "--format", "markdown").stdout, "optsched claims --format markdown > docs/claims.md"


def test_record_has_everything() -> None:
    """Tests that the record of a claim has all its fields, and who judged it."""
    one = claim("guo-2012/3.3-figure-2")
    record = one.record()
    assert set(record) == {*(field.name for field in msgspec.inspect.type_info(Claim).fields), "judged_by", "in_full"}
    assert record["judged_by"] == one.judged_by
    assert claim("agosta/3.4-theorem-3").judged_by == "evidence"
    assert claim("shen-2016/5-future").judged_by == "review"


OUTSIDE = """
from optsched.measuring.judging import Check, Claim, Finding, Paper

def always(check, draws):
    return Finding(check, True, {"draws": [draws]}, draws)

CLAIM = Claim(id="ours/1-true", paper="Ours", place="1", claim="it is so", verdict="holds", why="It is.",
              way="sweep", checks=(Check(says="so", judge="ours:always", draws=3),))
OURS = Paper("ours", "Ours", (CLAIM,))
STRANGE = Paper("strange", "Strange", (CLAIM,))
"""


def test_claims_of_another_package(tmp_path: Path) -> None:
    """Tests that a package's paper is listed and judged like the shipped ones, by a judge of its own."""
    (tmp_path / "ours.py").write_text(OUTSIDE)
    outside_packages.install(tmp_path, "our-claims", {"optsched.claims": {"ours": "ours:OURS"}})
    with outside_packages.on_path(tmp_path) as optsched:
        assert "ours/1-true" in optsched("claims", "--paper", "ours").stdout
        judged = optsched("claims", "ours/1-true", "--judge", "--seeds", "5").stdout
        assert "ours/1-true: holds, as recorded" in judged
        assert "so: true; draws 5; 5 draws" in judged
    assert isinstance(PAPERS["agosta"], Paper)


def test_a_package_with_a_claim_under_another_name(tmp_path: Path) -> None:
    """Tests that a paper whose claims bear another paper's name is refused, with the package."""
    (tmp_path / "ours.py").write_text(OUTSIDE)
    outside_packages.install(tmp_path, "our-claims", {"optsched.claims": {"strange": "ours:STRANGE"}})
    with outside_packages.on_path(tmp_path) as optsched:
        output = optsched("claims", code=2).stderr
        assert "our-claims" in output
        assert "no claim whose id begins with strange/" in output
