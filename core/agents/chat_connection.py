"""Connections to a chat server that notice when their other end has gone."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

_IDLE_SECONDS, _AGAIN_SECONDS, _TRIES = 60, 15, 4
"""A silent peer is asked after a minute, and given up a minute later."""


def transport_to(base: str, connections: int) -> httpx.AsyncHTTPTransport:
    """For one endpoint, through the proxy that the environment names for it.

    A model may think for as long as it likes: the kernel asks whether the connection still stands.
    """
    return httpx.AsyncHTTPTransport(
        limits=httpx.Limits(max_connections=connections),
        proxy=_proxy_of(base),
        socket_options=_keep_alive(),
    )


def _proxy_of(base: str) -> str | None:
    place = urlsplit(base)
    if proxy_bypass(place.netloc.rpartition("@")[2]):
        return None
    proxies = getproxies()
    found = proxies.get(place.scheme) or proxies.get("all")
    return f"http://{found}" if found and "://" not in found else found


def _keep_alive() -> list[tuple[int, int, int]]:
    idle = getattr(socket, "TCP_KEEPIDLE", None) or getattr(socket, "TCP_KEEPALIVE", None)
    wanted = [
        (idle, _IDLE_SECONDS),
        (getattr(socket, "TCP_KEEPINTVL", None), _AGAIN_SECONDS),
        (getattr(socket, "TCP_KEEPCNT", None), _TRIES),
    ]
    known = [(socket.IPPROTO_TCP, name, value) for name, value in wanted if name is not None]
    return [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), *known]
