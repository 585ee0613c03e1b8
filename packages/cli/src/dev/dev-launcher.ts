import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApiServer } from '@tenure/api-server'
import { OwnedProcesses } from '@tenure/core/internal'
import type { Terminal } from '../terminal.ts'
import { askOpsPort } from './ask-ops-port.ts'
import { coloured } from './colours.ts'
import type { DevProgram } from './dev-flags.ts'
import { nameOfReplica, namesOfReplicas } from './fleet.ts'
import { type ReplicaProcess, startReplicaProcess } from './replica-process.ts'

const HOST = '127.0.0.1'

/** Starts the processes of replicas: each with a kubeconfig of its own user, an identity and an operations port. */
export class DevLauncher implements AsyncDisposable {
  readonly #program: DevProgram
  readonly #server: ApiServer
  readonly #terminal: Terminal
  readonly #folder: string
  readonly #names: readonly string[]
  readonly #owned: OwnedProcesses
  readonly #cleanups: (() => unknown)[] = []
  readonly #opsPorts = new Map<string, number>()
  readonly #identities = new Map<string, string>()

  private constructor(
    program: DevProgram,
    server: ApiServer,
    { folder, terminal }: { readonly folder: string; readonly terminal: Terminal },
  ) {
    this.#program = program
    this.#server = server
    this.#folder = folder
    this.#terminal = terminal
    this.#names = namesOfReplicas(program.replicas)
    this.#owned = new OwnedProcesses({ defer: (cleanup) => void this.#cleanups.push(cleanup) })
  }

  /** Makes a temporary folder for the kubeconfigs, which only its owner can read. */
  static async create(program: DevProgram, server: ApiServer, terminal: Terminal): Promise<DevLauncher> {
    return new DevLauncher(program, server, { folder: await mkdtemp(join(tmpdir(), 'tenure-dev-')), terminal })
  }

  /** Call this when no process is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const cleanup of this.#cleanups) await cleanup()
    await rm(this.#folder, { recursive: true, force: true })
  }

  /** Says something about a replica. */
  say(name: string, text: string): void {
    this.#terminal.err(`${this.#prefix(name)}* ${text}\n`)
  }

  /** Starts the program as this replica. */
  async launch(name: string): Promise<ReplicaProcess> {
    const { file, args } = this.#program
    const { out, err, env, columns } = this.#terminal
    const kubeConfigPath = join(this.#folder, `${name}.yaml`)
    await this.#server.writeKubeConfig(kubeConfigPath, { name, groups: ['system:masters'] })
    const opsPort = await freePort()
    this.#opsPorts.set(name, opsPort)
    const identity = `${name}_${randomUUID().slice(0, 8)}`
    this.#identities.set(name, identity)
    const prefix = this.#prefix(name)
    const command = {
      file,
      args,
      env: {
        ...env,
        KUBECONFIG: kubeConfigPath,
        TENURE_DEV: '1',
        TENURE_IDENTITY: identity,
        TENURE_OPS_PORT: String(opsPort),
        // The output of the replica is a pipe. Its reader may be a person.
        ...(columns !== undefined && { _TENURE_TERMINAL: '1' }),
      },
      onLine: (line: string, stream: 'out' | 'err') => (stream === 'out' ? out : err)(`${prefix}${line}\n`),
    }
    return startReplicaProcess(this.#owned, command, this.#terminal)
  }

  /** Whether a replica was started with this identity last. An earlier one has ended. */
  isPresent(identity: string): boolean {
    return this.#identities.get(nameOfReplica(identity)) === identity
  }

  /** The operations port of a replica; undefined before its first start. */
  opsPortOf(name: string): number | undefined {
    return this.#opsPorts.get(name)
  }

  /** Whether a replica answers that it is ready. */
  async isReady(name: string): Promise<boolean> {
    const answer = await askOpsPort(this.#opsPorts.get(name) ?? 0, '/readyz', this.#terminal).catch(() => undefined)
    return answer?.status === 200
  }

  #prefix(name: string): string {
    const width = Math.max(...this.#names.map((each) => each.length))
    return coloured(`${name.padEnd(width)} | `, this.#names.indexOf(name), this.#terminal)
  }
}

/** A port that was free a moment ago. Another process can take it: then the replica says so, ends and starts again with another one. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, HOST, resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
