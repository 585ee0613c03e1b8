import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'

/** The variable in the environment of every process that a term owns. Its value names the owners, outermost first. */
const VARIABLE = '_TENURE_TERM'

/** The options with which `node:child_process` starts a child. */
interface SpawnRequest {
  detached?: boolean
  envPairs?: readonly string[]
}

type Spawnable = ChildProcess & { spawn?: (this: ChildProcess, request: SpawnRequest) => unknown }

/**
 * Calls `start`. The processes that it starts have `token` in their environment, and so do the processes of workers with the environment
 * of this process. Child processes are added to `children` and lead their own session, whatever their options say.
 */
export function markChildren<T>(token: string, children: ChildProcess[], start: () => T): T {
  const outer = process.env[VARIABLE]
  const value = `${outer ?? ''}${token}`
  const onChild = (message: unknown): void => {
    const { process: child } = message as { readonly process: Spawnable }
    children.push(child)
    mark(child, value)
  }
  process.env[VARIABLE] = value
  subscribe('child_process', onChild)
  try {
    return start()
  } finally {
    unsubscribe('child_process', onChild)
    if (outer === undefined) delete process.env[VARIABLE]
    else process.env[VARIABLE] = outer
  }
}

/** The channel reports a child before it is started. The child may have an environment of its own. */
function mark(child: Spawnable, value: string): void {
  const { spawn } = child
  if (spawn === undefined) return
  child.spawn = (request) => {
    delete child.spawn
    request.envPairs = [
      ...(request.envPairs ?? []).filter((pair) => !pair.startsWith(`${VARIABLE}=`)),
      `${VARIABLE}=${value}`,
    ]
    request.detached = process.platform !== 'win32' || request.detached === true
    return spawn.call(child, request)
  }
}
