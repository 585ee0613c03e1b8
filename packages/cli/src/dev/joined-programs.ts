import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kill } from 'node:process'
import type { ApiServer } from '@tenure/api-server'
import { textOf } from '@tenure/core/internal'
import { devFolder, type DevGreeting } from '@tenure/kubernetes/internal'
import type { ReplicaActions } from '../page/page-actions.ts'
import type { PageReplica } from '../page/page-server.ts'
import { printable } from '../status/table.ts'
import type { Terminal } from '../terminal.ts'
import { Cuts } from './cuts.ts'
import { type FoundReplica, type JoinedProgram, type JoinHost, JoinSocket } from './join-socket.ts'

/** Options of {@link JoinedPrograms}. */
export interface JoinedProgramsOptions {
  readonly server: ApiServer
  /** The path of the kubeconfig of the administrator: no other `tenure dev` that runs has the same. */
  readonly project: string
  readonly terminal: Terminal
  /** Called when the state of a program has changed. */
  readonly onChange: () => void
  /** The other replicas, which commands find through the same socket. */
  readonly others: {
    find(identity: string): FoundReplica | undefined
    kill(identity: string): void
  }
}

interface Member extends DevGreeting {
  /** Its user at the API server. */
  readonly user: string
  isPaused: boolean
}

/**
 * The programs that found this `tenure dev` by `TENURE_DEV=1`: started by somebody else, so this process neither restarts them nor ends
 * them at its own end. Each has a kubeconfig with a user of its own, as long as it runs.
 */
export class JoinedPrograms implements ReplicaActions, AsyncDisposable {
  readonly #options: JoinedProgramsOptions
  readonly #folder: string
  readonly #cuts: Cuts
  readonly #members = new Map<string, Member>()
  #socket: JoinSocket | undefined
  #joined = 0

  private constructor(options: JoinedProgramsOptions, folder: string) {
    this.#options = options
    this.#folder = folder
    this.#cuts = new Cuts(options.server.faults)
  }

  /** Lets programs join. If they cannot, says so and goes on without them. */
  static async open(options: JoinedProgramsOptions): Promise<JoinedPrograms> {
    const { terminal } = options
    const programs = new JoinedPrograms(options, await mkdtemp(join(tmpdir(), 'tenure-dev-')))
    const folder = devFolder(terminal.env)
    try {
      if (folder !== undefined) programs.#socket = await JoinSocket.open(folder, programs.#host)
    } catch (error) {
      terminal.err(
        `Programs with TENURE_DEV=1 cannot find this server, only those with KUBECONFIG: ${textOf(error)}.\n`,
      )
    }
    return programs
  }

  /** Whether programs can join. */
  get isOpen(): boolean {
    return this.#socket !== undefined
  }

  get facts(): readonly PageReplica[] {
    return [...this.#members.values()].map(({ identity, user, isPaused }) => ({
      name: identity,
      state: isPaused ? 'paused' : 'running',
      isCutOff: this.#cuts.has(user),
    }))
  }

  has(identity: string): boolean {
    return this.#members.has(identity)
  }

  /** Where a program is; undefined if none with this identity has joined. */
  find(identity: string): FoundReplica | undefined {
    const member = this.#members.get(identity)
    return member && { opsPort: member.opsPort }
  }

  /** Kills the process of a program. Nobody starts it again. */
  kill(identity: string): void {
    const member = this.#members.get(identity)
    if (member === undefined) return
    this.#say(member, 'is killed')
    signal(member, 'SIGKILL')
  }

  togglePause(identity: string): void {
    const member = this.#members.get(identity)
    if (member === undefined) return
    signal(member, member.isPaused ? 'SIGCONT' : 'SIGSTOP')
    member.isPaused = !member.isPaused
    this.#say(member, member.isPaused ? 'is paused' : 'continues')
  }

  toggleCut(identity: string): void {
    const member = this.#members.get(identity)
    if (member === undefined) return
    const isCut = this.#cuts.toggle(member.user)
    this.#say(member, isCut ? 'is cut off from the API server' : 'reaches the API server again')
  }

  /** Lets paused programs continue. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const member of this.#members.values()) if (member.isPaused) signal(member, 'SIGCONT')
    await this.#socket?.[Symbol.asyncDispose]()
    await rm(this.#folder, { recursive: true, force: true })
  }

  get #host(): JoinHost {
    const { others, project } = this.#options
    return {
      project,
      admit: (greeting) => this.#admit(greeting),
      find: (identity) => this.find(identity) ?? others.find(identity),
      kill: (identity) => (this.has(identity) ? this.kill(identity) : others.kill(identity)),
    }
  }

  async #admit(greeting: DevGreeting): Promise<JoinedProgram> {
    const { identity } = greeting
    if (this.#members.has(identity)) throw new Error(`a program with the identity ${identity} has joined already`)
    this.#joined += 1
    const member = { ...greeting, user: `program-${this.#joined}`, isPaused: false }
    this.#members.set(identity, member)
    const kubeConfigPath = join(this.#folder, `${member.user}.yaml`)
    try {
      await this.#options.server.writeKubeConfig(kubeConfigPath, { name: member.user, groups: ['system:masters'] })
    } catch (error) {
      this.#members.delete(identity)
      throw error
    }
    this.#say(member, `has joined with PID ${member.pid}`)
    return { kubeConfigPath, leave: () => this.#leave(member, kubeConfigPath) }
  }

  #leave(member: Member, kubeConfigPath: string): void {
    this.#members.delete(member.identity)
    if (this.#cuts.has(member.user)) this.#cuts.toggle(member.user)
    this.#say(member, 'has left')
    rm(kubeConfigPath, { force: true }).catch(() => {})
  }

  #say({ identity }: Member, text: string): void {
    this.#options.terminal.err(`${printable(identity)} | * ${text}\n`)
    this.#options.onChange()
  }
}

/** A process that has just ended gets no signal. */
function signal({ pid }: Member, name: NodeJS.Signals): void {
  try {
    kill(pid, name)
  } catch {
    // Its connection ends, too.
  }
}
