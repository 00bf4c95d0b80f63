"""All operator commands by the name under which a request asks for them."""

from typing import Final

from services.desk.operations.account import Adjust, Baseline
from services.desk.operations.base import Operation
from services.desk.operations.halts import Flatten, HaltNow, Reset
from services.desk.operations.keys import Rotate
from services.desk.operations.money import CloseBook, Deposit, Withdraw
from services.desk.operations.orders import Approve, Cancel, Refuse
from services.desk.operations.policies import AdoptPolicy
from services.desk.operations.sources import Pause, Resume

KINDS: Final[tuple[type[Operation], ...]] = (
    *(Cancel, Approve, Refuse),
    *(HaltNow, Reset, Flatten),
    *(Deposit, Withdraw, CloseBook),
    *(Pause, Resume),
    *(AdoptPolicy, Baseline, Adjust),
    Rotate,
)
COMMANDS: Final[dict[str, type[Operation]]] = {str(kind.__struct_config__.tag): kind for kind in KINDS}
