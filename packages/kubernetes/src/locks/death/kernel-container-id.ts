import { readFileSync } from 'node:fs'

/** A container ID as containerd, CRI-O and Docker write it into the path of a cgroup. */
const ID_IN_PATH = /kubepods.*[/-]([0-9a-f]{64})(?:\.scope)?$/

/**
 * The ID of the container that this process runs in, as the kernel knows it. Undefined outside of Kubernetes, and if the cgroup
 * namespace hides it, as it does by default with cgroup v2.
 */
export function readKernelContainerId(): string | undefined {
  return kernelContainerId(tryRead('/proc/self/cgroup'), tryRead('/proc/self/mountinfo'))
}

/** The one container ID in the cgroups of a process and the roots of its cgroup mounts; undefined for none or several. */
export function kernelContainerId(cgroup: string, mountinfo: string): string | undefined {
  const mounts = mountinfo.split('\n').filter((line) => / - cgroup2? /.test(line))
  // A line of `/proc/self/cgroup` ends with the path.
  const paths = [...cgroup.split('\n'), ...mounts.map((line) => String(line.split(' ')[3]))]
  const ids = new Set(paths.flatMap((path) => ID_IN_PATH.exec(path)?.[1] ?? []))
  return ids.size === 1 ? [...ids][0] : undefined
}

function tryRead(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
