"""Probes asked with settings one by one, as a file of `recombine probe` names them; groups are put together here."""

from recombine_lab import probes
from recombine_lab.probes.probe_file import group_settings


def influence(model, **settings):
    return probes.influence(model, **group_settings(probes.influence, settings))


def geometry(model, **settings):
    return probes.geometry(model, **group_settings(probes.geometry, settings))


def subnetworks(model, score="accuracy", **settings):
    return probes.subnetworks(model, score, **group_settings(probes.subnetworks, settings))
