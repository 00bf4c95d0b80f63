"""What every suite shares: hypothesis profiles. Fixtures live beside the tests that use them."""

import os

import pytest
from hypothesis import settings

from tests.support.runs import DAYS, Finished, finished

# No deadline: the first example of a test pays for imports. CI repeats the same examples and prints what fails.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """`propdesk run --days 40 --json` on a fresh directory, undisturbed: what other runs are compared with."""
    return finished(tmp_path_factory.mktemp("plain") / "desk", "--days", DAYS)
