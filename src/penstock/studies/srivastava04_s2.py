"""What Srivastava and Widom left out: Figure 8 where the averaged attribute is in S2."""

from __future__ import annotations

from penstock.studies.sampling_error import study_of_memory

__all__ = ["STUDY"]

STUDY = study_of_memory(
    name="srivastava04-s2",
    title="error of an average over a sampled join against memory, attribute in S2",
    reference="Srivastava and Widom 2004, section 6.2.4, results left out",
    of="s2",
)
