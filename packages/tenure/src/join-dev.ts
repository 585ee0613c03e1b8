import type { Socket } from 'node:net'
import { textOf } from '@tenure/core/internal'
import { KubeConfigError } from '@tenure/kubernetes'
import { askDev, connectToDev, type DevGreeting, devFolder, stringAt } from '@tenure/kubernetes/internal'

const REMEDY = 'Start `npx tenure dev` first, or unset TENURE_DEV'

/** A running `tenure dev` that this process has joined. */
export interface JoinedDev {
  /** A kubeconfig with a user of its own. `tenure dev` removes it after {@link leave}, or when this process ends. */
  readonly kubeConfigPath: string
  leave(): void
}

/**
 * Finds the running `tenure dev` of this user, and joins it: then its page shows this process, and acts on it.
 * @throws KubeConfigError if none runs, several run, or the one that runs does not answer
 */
export async function joinDev(env: NodeJS.ProcessEnv, greeting: DevGreeting): Promise<JoinedDev> {
  const folder = devFolder(env)
  if (folder === undefined)
    throw new KubeConfigError('TENURE_DEV=1 finds `tenure dev` in the home directory, but HOME is not set')
  const { socket, pid } = await theRunning(folder)
  try {
    const kubeConfigPath = stringAt(await askDev(socket, greeting), 'kubeConfigPath')
    if (kubeConfigPath === undefined) throw new Error('it gave no kubeconfig')
    return { kubeConfigPath, leave: () => socket.destroy() }
  } catch (cause) {
    socket.destroy()
    throw new KubeConfigError(`Could not join \`tenure dev\` with PID ${pid}: ${textOf(cause)}`, { cause })
  }
}

interface RunningDev {
  readonly pid: number
  readonly socket: Socket
}

async function theRunning(folder: string): Promise<RunningDev> {
  const found = await connectToDev(folder)
  const all = found.flatMap(({ pid, socket }) => (socket === undefined ? [] : [{ pid, socket }]))
  const [running, ...others] = all
  if (running !== undefined && others.length === 0) return running
  for (const { socket } of all) socket.destroy()
  if (running === undefined) {
    const ended = `PID ${found.map(({ pid }) => pid).join(', PID ')} has ended, and left a socket in ${folder}`
    const why = found.length === 0 ? `${folder} has no socket` : ended
    throw new KubeConfigError(`TENURE_DEV=1 found no running \`tenure dev\`: ${why}. ${REMEDY}`)
  }
  const pids = all.map(({ pid }) => `PID ${pid}`).join(', ')
  const remedy = 'Set KUBECONFIG to the file that one of them printed'
  throw new KubeConfigError(`TENURE_DEV=1 found ${all.length} running \`tenure dev\`: ${pids}. ${remedy}`)
}
