import { fstatSync, readdirSync, readlinkSync } from 'node:fs'

/** The path of a descriptor, if the system shows it. Node may reuse the number for another file later. */
export function targetOf(fd: number): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return undefined
  }
}

/** Node keeps the file of its trace events open after tracing has ended. */
const OF_NODE = /[\\/]node_trace\.\d+\.log$/

/** The open files of this process, by descriptor. Empty if the system does not list them. */
export function listOpenFiles(): ReadonlyMap<number, string> {
  const files = new Map<number, string>()
  for (const fd of descriptorNumbers()) {
    // Most descriptors are sockets and pipes: their targets take longer to read than their types.
    const target = isFile(fd) ? targetOf(fd) : undefined
    if (target !== undefined && !OF_NODE.test(target)) files.set(fd, target)
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

/** The descriptor that read the list is already closed, so `fstat` fails for it. The limit of 0 saves the cost of a stack. */
function isFile(fd: number): boolean {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
