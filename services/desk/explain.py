"""`propdesk explain`: one story of a run, an order or an execution, from the log itself."""

from services.desk.console import show, show_json
from services.desk.desk_keys import DeskKeys
from services.desk.embedded import running_desk, with_log, with_running
from services.desk.errors import UsageError
from services.desk.layout import Layout
from services.journal.explain import explain as explain_log
from services.journal.gathering import Explanation, Unknown
from services.journal.story import document, story
from services.journal.subject import SubjectError, read_subject
from shared.bus.jetstream import Connection
from shared.bus.logs import configure_logs


def explain(layout: Layout, name: str, *, as_json: bool) -> None:
    """Print every event of what `name` names; raises `DeskError`, for an unknown name a `UsageError` with the nearest ones."""
    configure_logs("desk", "critical")
    try:
        subject = read_subject(name)

        async def work(connection: Connection, keys: DeskKeys) -> Explanation:
            return await explain_log(connection.log, subject, keys.identity().keyring())

        found = with_log(layout, work) if running_desk(layout) is None else with_running(layout, work)
    except (SubjectError, Unknown) as error:
        raise UsageError(str(error)) from error
    if as_json:
        show_json(document(found))
        return
    for line in story(found):
        show(line)
