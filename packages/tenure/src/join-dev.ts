import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock, textOf } from '@tenure/core/internal'
import { KubeConfigError } from '@tenure/kubernetes'
import {
  type DevGreeting,
  devFolder,
  isJsonObject,
  isPrivateFolder,
  pidOfSocket,
  stringAt,
} from '@tenure/kubernetes/internal'

/** How long a running `tenure dev` may take to answer. */
const ANSWER_MS = 5000

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
    return { kubeConfigPath: await greet(socket, greeting), leave: () => socket.destroy() }
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
  const pids = pidsIn(folder)
  const found = await Promise.all(pids.map((pid) => connectTo(join(folder, `${pid}.sock`), pid)))
  const [running, ...others] = found.flatMap((each) => each ?? [])
  if (running === undefined) {
    const why =
      pids.length === 0
        ? `${folder} has no socket`
        : `PID ${pids.join(', PID ')} has ended, and left a socket in ${folder}`
    throw new KubeConfigError(`TENURE_DEV=1 found no running \`tenure dev\`: ${why}. ${REMEDY}`)
  }
  if (others.length === 0) return running
  for (const { socket } of [running, ...others]) socket.destroy()
  const all = [running, ...others].map(({ pid }) => `PID ${pid}`).join(', ')
  throw new KubeConfigError(
    `TENURE_DEV=1 found ${others.length + 1} running \`tenure dev\`: ${all}. Set KUBECONFIG to the file that one of them printed`,
  )
}

function pidsIn(folder: string): readonly number[] {
  try {
    if (!isPrivateFolder(folder))
      throw new KubeConfigError(
        `TENURE_DEV=1 does not use ${folder}: it must be a folder that only its owner, this user, can enter`,
      )
    return readdirSync(folder).flatMap((file) => pidOfSocket(file) ?? [])
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/** Undefined if nobody listens any more. */
async function connectTo(path: string, pid: number): Promise<RunningDev | undefined> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
  } catch {
    return undefined
  }
  // It must not keep the process running, nor end it.
  socket.unref().on('error', () => {})
  return { pid, socket }
}

async function greet(socket: Socket, greeting: DevGreeting): Promise<string> {
  socket.ref().write(`${JSON.stringify(greeting)}\n`)
  const answer: unknown = JSON.parse(await lineOf(socket))
  socket.unref().resume()
  const path = isJsonObject(answer) ? stringAt(answer, 'kubeConfigPath') : undefined
  if (path !== undefined) return path
  throw new Error((isJsonObject(answer) ? stringAt(answer, 'error') : undefined) ?? 'it gave no kubeconfig')
}

function lineOf(socket: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const lines = createInterface({ input: socket })
  lines.once('line', resolve).once('close', () => reject(new Error('it has ended')))
  const timer = systemClock.setTimer(ANSWER_MS, () => reject(new Error(`no answer within ${ANSWER_MS} ms`)))
  return promise.finally(() => {
    timer.cancel()
    lines.close()
  })
}
