"""What can be typed about the stand-in gateway."""

from pathlib import Path
from typing import Annotated

import typer

from services.desk.options import JsonOption, data_path, directory_path, scenario_path


def simulator(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The TWS port; 0 takes any that is free.")] = 4002,
    control: Annotated[int, typer.Option(min=0, max=65535, help="The control port (JSON lines); 0 takes any that is free.")] = 0,
    data: Annotated[
        Path | None, typer.Option(parser=data_path, metavar="PATH", help="A price file; default: 20 US stocks that come along.")
    ] = None,
    clock: Annotated[str, typer.Option(metavar="real|accelerated|step", help="Who moves time.")] = "accelerated",
    speed: Annotated[int | None, typer.Option(help="Seconds a second of the accelerated clock (default: 1000).")] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="YYYY-MM-DD", help="The first session (default: 60 before the last).")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="Other than 0: frames are cut at random, the same way each time.")
    ] = 0,
    scenario: Annotated[
        Path | None, typer.Option(parser=scenario_path, metavar="PATH", help="What is scripted of the market (TOML or JSON).")
    ] = None,
    faults: Annotated[Path | None, typer.Option(metavar="PATH", help="A file of faults (docs/simulator.md).")] = None,
    frames: Annotated[Path | None, typer.Option(metavar="PATH", help="Log every frame here.")] = None,
    base_currency: Annotated[str | None, typer.Option(metavar="CUR", help="The account's currency (default: USD).")] = None,
    cash: Annotated[str | None, typer.Option(metavar="AMOUNT", help="What the account begins with (default: 1000000).")] = None,
    fx: Annotated[
        list[str] | None, typer.Option(metavar="CUR=RATE", help="Base units per unit of a currency; repeatable.")
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--dir", parser=directory_path, metavar="PATH", help="Keep the broker's books here; else they are gone at the end."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the stand-in for IB Gateway alone, for any IBKR client."""
    from services.desk.simulator_command import SimulatorOptions, simulate

    options = SimulatorOptions(
        port, control, data, directory, clock, speed, start, seed, scenario, faults, frames, base_currency, cash, tuple(fx or ())
    )
    simulate(options, as_json=as_json)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(simulator)
