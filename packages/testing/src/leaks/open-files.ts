import { fstatSync, readdirSync, readlinkSync } from 'node:fs'

/** What a descriptor refers to, where the system tells; the same number may be given to another file later. */
export function targetOf(fd: number): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return undefined
  }
}

/** Node keeps the file of its trace events open when tracing has ended. */
const OF_NODE = /[\\/]node_trace\.\d+\.log$/

/** The files that this process has open, by descriptor; none where the system does not list them. */
export function listOpenFiles(): ReadonlyMap<number, string> {
  const files = new Map<number, string>()
  for (const fd of descriptorNumbers()) {
    const target = targetOf(fd)
    if (target !== undefined && !OF_NODE.test(target) && isFile(fd)) files.set(fd, target)
  }
  return files
}

function descriptorNumbers(): readonly number[] {
  try {
    return readdirSync('/proc/self/fd').map(Number)
  } catch {
    return []
  }
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}
