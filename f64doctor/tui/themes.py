"""The colours of the wizard: a dark and a light theme with one accent, and one without colours for NO_COLOR."""

from __future__ import annotations

from textual.theme import BUILTIN_THEMES, Theme

DARK = Theme(
    name="f64doctor-dark",
    primary="#6cb6ff",
    secondary="#6cb6ff",
    accent="#6cb6ff",
    success="#7fc98f",
    warning="#e3b45c",
    error="#ff7b72",
    foreground="#d7dde5",
    background="#11151b",
    surface="#181d25",
    panel="#1d232d",
    dark=True,
    variables={
        "muted": "#7f8a98",
        "rule": "#2c3440",
        "syntax": "#b9a5e0",
        "literal": "#a3c2a0",
        "scrollbar": "#323b48",
        "scrollbar-hover": "#465263",
        "scrollbar-active": "#6cb6ff",
        "scrollbar-background": "#11151b",
        "scrollbar-background-hover": "#11151b",
        "scrollbar-background-active": "#11151b",
    },
)

LIGHT = Theme(
    name="f64doctor-light",
    primary="#0b62b8",
    secondary="#0b62b8",
    accent="#0b62b8",
    success="#1c7a36",
    warning="#8f5a00",
    error="#c0262d",
    foreground="#1f2630",
    background="#fbfbf9",
    surface="#f0f1ee",
    panel="#e8eae7",
    dark=False,
    variables={
        "muted": "#66707c",
        "rule": "#d3d7d6",
        "syntax": "#6f42a8",
        "literal": "#3e6b3a",
        "scrollbar": "#c6cbcc",
        "scrollbar-hover": "#a9b0b3",
        "scrollbar-active": "#0b62b8",
        "scrollbar-background": "#fbfbf9",
        "scrollbar-background-hover": "#fbfbf9",
        "scrollbar-background-active": "#fbfbf9",
    },
)

_ANSI = BUILTIN_THEMES["ansi-dark"]

COLOURLESS = Theme(
    name="f64doctor-colourless",
    ansi=True,
    primary="ansi_default",
    secondary="ansi_default",
    accent="ansi_default",
    success="ansi_default",
    warning="ansi_default",
    error="ansi_default",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    dark=True,
    variables={
        **_ANSI.variables,
        "muted": "ansi_default",
        "rule": "ansi_default",
        "syntax": "ansi_default",
        "literal": "ansi_default",
    },
)

THEMES = (DARK, LIGHT, COLOURLESS)
