"""Which graphics API a capture comes from, where its dialect or the names of its calls tell: flags that choose advice."""

from triage.schema._metric import flag

METRICS = tuple(
    flag(
        f"api.{api}",
        name,
        f"1 where the calls are {name}'s, 0 where they are another API's, missing where nothing tells",
    )
    for api, name in (
        ("d3d11", "Direct3D 11"),
        ("d3d12", "Direct3D 12"),
        ("vulkan", "Vulkan"),
        ("opengl", "OpenGL"),
        ("metal", "Metal"),
    )
)
