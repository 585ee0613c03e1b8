import { type ChildProcess, fork } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { StepDownResult } from 'tenure'
import { inject } from 'vitest'
import { Journal, type Wait } from './journal.ts'
import type { Footprint, ReplicaCommand, ReplicaEvent, ReplicaReply } from './replica-event.ts'
import { type ReplicaSetup, SETUP_VARIABLE } from './replica-setup.ts'

/** How to start a replica. */
export interface ReplicaStart {
  readonly name: string
  readonly setup: ReplicaSetup
  /** Added to the environment, which holds nothing of that of the test but what Node needs. */
  readonly env?: NodeJS.ProcessEnv
  /** Command line of the program. */
  readonly argv?: readonly string[]
}

/** How a process ended, and when this was observed. */
export interface ReplicaExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly at: bigint
}

/** A line of the log of a replica. */
export type LogLine = Readonly<Record<string, unknown>>

type EventOf<K extends ReplicaEvent['kind']> = Extract<ReplicaEvent, { kind: K }>

/** A replica in another process. */
export class ReplicaProcess implements AsyncDisposable {
  readonly name: string
  readonly events: Journal<ReplicaEvent>
  readonly logs: Journal<LogLine>
  /** Fulfils when the process has ended, however it did. */
  readonly exited: Promise<ReplicaExit>
  readonly #child: ChildProcess
  #stderr = ''
  #commands = 0

  private constructor(name: string, child: ChildProcess) {
    this.name = name
    this.#child = child
    this.events = new Journal(name)
    this.logs = new Journal(`the log of ${name}`)
    child.on('message', (event) => this.events.record(event as ReplicaEvent))
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (this.#stderr += chunk))
    if (child.stdout !== null) createInterface(child.stdout).on('line', (line) => this.#readLog(line))
    this.exited = new Promise((resolve) => {
      let at = 0n
      child.once('exit', () => (at = process.hrtime.bigint()))
      child.once('close', (code, signal) => {
        const why = `it ended with ${signal ?? `code ${code}`}, saying ${this.#stderr}`
        this.events.end(why)
        this.logs.end(why)
        resolve({ code, signal, at })
      })
    })
  }

  /** Starts the program. It ends when this process does. */
  static start({ name, setup, env = {}, argv = [] }: ReplicaStart): ReplicaProcess {
    const { file, cacheFolder } = inject('replicaProgram')
    const child = fork(file, argv, {
      execArgv: ['--expose-gc'],
      // Structured clones, for the sake of bigint.
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: {
        PATH: process.env['PATH'],
        HOME: join(tmpdir(), 'no-such-home'),
        NODE_COMPILE_CACHE: cacheFolder,
        [SETUP_VARIABLE]: JSON.stringify(setup),
        ...env,
      },
    })
    return new ReplicaProcess(name, child)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** What the process wrote to the standard error so far. */
  get stderr(): string {
    return this.#stderr
  }

  /** The reports of one kind so far. */
  all<K extends ReplicaEvent['kind']>(kind: K): EventOf<K>[] {
    return this.events.entries.filter((event): event is EventOf<K> => event.kind === kind)
  }

  /** Waits for a report of this kind. */
  saw<K extends ReplicaEvent['kind']>(kind: K, wait?: Wait): Promise<EventOf<K>> {
    return this.events.waitFor(`\`${kind}\``, (event): event is EventOf<K> => event.kind === kind, wait)
  }

  /** Waits until the candidacy is in this state. */
  reached(state: EventOf<'state'>['to']['kind'], wait?: Wait): Promise<EventOf<'state'>> {
    const isIt = (event: ReplicaEvent): event is EventOf<'state'> => event.kind === 'state' && event.to.kind === state
    return this.events.waitFor(`the state \`${state}\``, isIt, wait)
  }

  /** Waits until this replica follows somebody else. */
  follows(leader: string, wait?: Wait): Promise<ReplicaEvent> {
    const isIt = (event: ReplicaEvent) =>
      event.kind === 'state' && event.to.kind === 'following' && event.to.observedLeader === leader
    return this.events.waitFor(`that it follows ${leader}`, isIt, wait)
  }

  /** Waits for a line of the log with this `event`. */
  logged(event: string, wait?: Wait): Promise<LogLine> {
    return this.logs.waitFor(`a line about \`${event}\``, (line) => line['event'] === event, wait)
  }

  /** The port of the operations server. */
  async opsPort(): Promise<number> {
    const { port } = await this.logged('ops-listening')
    return Number(port)
  }

  /** Gets a page of the operations server. */
  async get(path: string): Promise<{ readonly status: number; readonly body: string }> {
    const response = await fetch(`http://127.0.0.1:${await this.opsPort()}${path}`, {
      headers: { connection: 'close' },
    })
    return { status: response.status, body: await response.text() }
  }

  /** Has the replica step down and fulfils with what came of it. */
  async stepDown(options: { readonly cooldownMs?: number } = {}): Promise<StepDownResult> {
    return (await this.#command({ kind: 'step-down', ...options })) as StepDownResult
  }

  /** Has the replica collect its garbage and tell what is left. */
  async measure(): Promise<Footprint> {
    return (await this.#command({ kind: 'measure' })) as Footprint
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Sends SIGTERM and fulfils with how the process ended. */
  async terminate(): Promise<ReplicaExit> {
    this.signal('SIGTERM')
    return await this.exited
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isRunning) this.signal('SIGKILL')
    await this.exited
  }

  async #command(command: CommandBody): Promise<ReplicaReply['result']> {
    const id = ++this.#commands
    this.#child.send({ ...command, id })
    const isIt = (event: ReplicaEvent): event is EventOf<'reply'> => event.kind === 'reply' && event.id === id
    return (await this.events.waitFor(`the reply to \`${command.kind}\``, isIt)).result
  }

  #readLog(line: string): void {
    this.logs.record(parseLogLine(line))
  }
}

type CommandBody = ReplicaCommand extends infer C ? (C extends ReplicaCommand ? Omit<C, 'id'> : never) : never

/** @throws Error for a line with a duplicate key, because parsers differ in which value they keep. */
function parseLogLine(line: string): LogLine {
  const parsed = JSON.parse(line) as LogLine
  const keys = new Set<string>()
  JSON.parse(line, (key, value: unknown) => (keys.add(key), value))
  const isTwice = [...keys].find((key) => key !== '' && countOf(line, key) > countOf(JSON.stringify(parsed), key))
  if (isTwice !== undefined) throw new Error(`The key ${isTwice} stands twice in the line ${line}`)
  return parsed
}

function countOf(text: string, key: string): number {
  return text.split(`${JSON.stringify(key)}:`).length
}
