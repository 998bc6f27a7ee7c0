"""Which graphics API a capture comes from, and what it and the GPU can do, where that is known: flags that choose advice."""

from triage.schema._metric import flag

METRICS = (
    *(
        flag(
            f"api.{api}",
            name,
            f"1 where the calls are {name}'s, 0 where they are another API's, missing where unknown",
        )
        for api, name in (
            ("d3d11", "Direct3D 11"),
            ("d3d12", "Direct3D 12"),
            ("vulkan", "Vulkan"),
            ("opengl", "OpenGL"),
            ("metal", "Metal"),
        )
    ),
    *(
        flag(
            f"can.{metric}",
            label,
            f"1 where the GPU and the API have {what}, 0 where one of them has not, missing where unknown",
        )
        for metric, label, what in (
            ("mesh_shaders", "Mesh shaders", "mesh shaders"),
            ("variable_rate", "Variable-rate shading", "variable-rate shading"),
            ("sampler_feedback", "Sampler feedback", "sampler feedback"),
            ("ray_reordering", "Reordering of rays", "a reordering of rays that does something"),
            ("compute_queue", "Compute queue", "a queue for compute beside graphics"),
        )
    ),
)
