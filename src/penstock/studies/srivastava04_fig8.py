"""Figure 8 of Srivastava and Widom: error of an average over a sampled join, against memory."""

from __future__ import annotations

from penstock.studies.sampling_error import study_of_memory

__all__ = ["STUDY"]

STUDY = study_of_memory(
    name="srivastava04-fig8",
    title="error of an average over a sampled join against memory, attribute in S1",
    reference="Srivastava and Widom 2004, section 6.2.4, Figure 8",
    of="s1",
)
