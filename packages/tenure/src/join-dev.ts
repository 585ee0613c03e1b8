import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Logger } from '@tenure/core'
import { systemClock, textOf } from '@tenure/core/internal'
import { KubeConfigError } from '@tenure/kubernetes'
import { askDev, connectToDev, type DevGreeting, devFolder, pause, stringAt } from '@tenure/kubernetes/internal'
import { NextDev, NONE_RUNS } from './next-dev.ts'

const REMEDY = 'Start `npx tenure dev` first, or unset TENURE_DEV'

/** How often to look for the next `tenure dev` after one has ended. */
const LOOK_EVERY_MS = 500

/** The `tenure dev` that this process has joined. When it ends, this process joins the next one. */
export interface JoinedDev {
  /** The kubeconfig of the present one, with a user of its own. It is removed after {@link leave}, or when this process ends. */
  readonly kubeConfigPath: string
  leave(): Promise<void>
}

/**
 * Finds the running `tenure dev` of this user, and joins it: then its page shows this process, and acts on it.
 * @throws KubeConfigError if none runs, several run, or the one that runs does not answer
 */
export async function joinDev(env: NodeJS.ProcessEnv, greeting: DevGreeting, logger: Logger): Promise<JoinedDev> {
  const folder = devFolder(env)
  if (folder === undefined)
    throw new KubeConfigError('TENURE_DEV=1 finds `tenure dev` in the home directory, but HOME is not set')
  return new JoinedDevs({ folder, greeting, logger }, await join(await theRunning(folder), greeting))
}

interface JoinOptions {
  readonly folder: string
  readonly greeting: DevGreeting
  readonly logger: Logger
}

interface Membership extends RunningDev {
  readonly kubeConfigPath: string
  readonly project: string | undefined
}

class JoinedDevs implements JoinedDev {
  readonly #options: JoinOptions
  readonly #leaving = new AbortController()
  readonly #following: Promise<void>
  #present: Membership

  constructor(options: JoinOptions, first: Membership) {
    this.#options = options
    this.#present = first
    this.#following = this.#follow()
  }

  get kubeConfigPath(): string {
    return this.#present.kubeConfigPath
  }

  async leave(): Promise<void> {
    this.#leaving.abort()
    this.#present.socket.destroy()
    await this.#following
  }

  async #follow(): Promise<void> {
    const { logger } = this.#options
    for (;;) {
      const { socket, pid } = this.#present
      if (!socket.closed) await once(socket, 'close')
      if (this.#leaving.signal.aborted) return
      const what = `\`tenure dev\` with PID ${pid} has ended, and its API server with it`
      logger.warn({ event: 'dev-ended', pid }, `${what}. This process joins the next \`tenure dev\``)
      const next = await this.#next()
      if (next === undefined) return
      if (this.#leaving.signal.aborted) return void next.socket.destroy()
      this.#present = next
      logger.info({ event: 'dev-joined', pid: next.pid }, `joined \`tenure dev\` with PID ${next.pid}`)
    }
  }

  /** Undefined if this process leaves. */
  async #next(): Promise<Membership | undefined> {
    const { folder, greeting, logger } = this.#options
    const { signal } = this.#leaving
    const search = new NextDev(this.#present.project)
    const notice = new WaitNotice(logger)
    while (!signal.aborted) {
      // What fails here is a `tenure dev` that has just ended.
      const found = await findNext(folder, search).catch(() => NONE_RUNS)
      if ('waitsFor' in found) notice.waitsFor(found.waitsFor)
      const joined = 'socket' in found ? await join(found, greeting).catch(() => undefined) : undefined
      if (joined !== undefined) return joined
      await pause(LOOK_EVERY_MS, systemClock, signal)
    }
    return undefined
  }
}

/** Says what a process waits for: once, and not what has passed by the next look. */
class WaitNotice {
  readonly #logger: Logger
  #last = NONE_RUNS.waitsFor
  // The end of the last `tenure dev` was said with it.
  #said = NONE_RUNS.waitsFor

  constructor(logger: Logger) {
    this.#logger = logger
  }

  waitsFor(what: string): void {
    if (what === this.#last && what !== this.#said) {
      this.#logger.warn({ event: 'dev-awaited' }, `waiting: this process joins \`tenure dev\` when ${what}`)
      this.#said = what
    }
    this.#last = what
  }
}

interface RunningDev {
  readonly pid: number
  readonly socket: Socket
}

async function theRunning(folder: string): Promise<RunningDev> {
  const found = await connectToDev(folder)
  const all = found.flatMap(runningOf)
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

function runningOf({ pid, socket }: Awaited<ReturnType<typeof connectToDev>>[number]): readonly RunningDev[] {
  return socket === undefined ? [] : [{ pid, socket }]
}

/** @throws KubeConfigError if it refuses this process, or does not answer */
async function join({ pid, socket }: RunningDev, greeting: DevGreeting): Promise<Membership> {
  try {
    const answer = await askDev(socket, greeting)
    const kubeConfigPath = stringAt(answer, 'kubeConfigPath')
    if (kubeConfigPath === undefined) throw new Error('it gave no kubeconfig')
    return { pid, socket, kubeConfigPath, project: stringAt(answer, 'project') }
  } catch (cause) {
    socket.destroy()
    throw new KubeConfigError(`Could not join \`tenure dev\` with PID ${pid}: ${textOf(cause)}`, { cause })
  }
}

/** A connection to the one that the search chooses, or what this process waits for. */
async function findNext(folder: string, search: NextDev): Promise<RunningDev | { readonly waitsFor: string }> {
  const running = (await connectToDev(folder)).flatMap(runningOf)
  const asked = await Promise.all(
    running.map(({ pid, socket }) => projectOf(socket).then((project) => ({ pid, project }))),
  )
  const choice = search.choose(asked)
  const chosen = running.find(({ pid }) => 'pid' in choice && pid === choice.pid)
  for (const { pid, socket } of running) if (pid !== chosen?.pid) socket.destroy()
  if (chosen !== undefined) return chosen
  return 'waitsFor' in choice ? choice : NONE_RUNS
}

/** Undefined if it does not answer. */
async function projectOf(socket: Socket): Promise<string | undefined> {
  try {
    return stringAt(await askDev(socket, { about: '' }), 'project')
  } catch {
    return undefined
  }
}
