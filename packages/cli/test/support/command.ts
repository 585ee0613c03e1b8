import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock, systemRandom } from '@tenure/core/internal'
import { type ApiServer, type ApiServerOptions, startApiServer } from '@tenure/api-server'
import { runTenure } from '../../src/run-tenure.ts'
import type { Terminal } from '../../src/terminal.ts'

/** What a command printed, and its exit code. */
export interface Ran {
  readonly out: string
  readonly err: string
  readonly code: number
}

/** A command that runs in this process. */
export interface RunningCommand {
  readonly done: Promise<Ran>
  /** What it has printed so far. */
  readonly printed: { readonly out: string; readonly err: string }
  /** Sends it an interrupt. */
  interrupt(): void
}

/** Starts a command line in this process. */
export function startCommand(args: readonly string[], given: Partial<Terminal> = {}): RunningCommand {
  const interrupt = new AbortController()
  const printed = { out: '', err: '' }
  const terminal: Terminal = {
    out: (text) => void (printed.out += text),
    err: (text) => void (printed.err += text),
    columns: undefined,
    keys: undefined,
    env: { PATH: process.env['PATH'] },
    clock: systemClock,
    random: systemRandom,
    interrupted: interrupt.signal,
    ...given,
  }
  return {
    done: runTenure(args, terminal).then((code) => ({ ...printed, code })),
    printed,
    interrupt: () => interrupt.abort(new Error('Interrupted')),
  }
}

/** Runs a command line in this process to its end. */
export function run(args: readonly string[], given: Partial<Terminal> = {}): Promise<Ran> {
  return startCommand(args, given).done
}

/** Where an object is stored. */
export interface ObjectPath {
  readonly group: string
  readonly resource: string
  readonly namespace?: string
  readonly name: string
}

/** An embedded API server, and kubeconfigs for it. */
export class TestCluster implements AsyncDisposable {
  readonly server: ApiServer
  readonly #folder: string

  private constructor(server: ApiServer, folder: string) {
    this.server = server
    this.#folder = folder
  }

  static async start(options: ApiServerOptions = {}): Promise<TestCluster> {
    const server = await startApiServer({ autoProvisionNamespaces: true, ...options })
    const folder = await mkdtemp(join(tmpdir(), 'tenure-cli-'))
    await writeFile(join(folder, 'admin.yaml'), server.kubeConfig())
    for (const user of options.users ?? []) await writeFile(join(folder, `${user.name}.yaml`), server.kubeConfig(user))
    return new TestCluster(server, folder)
  }

  /** The path of a kubeconfig. @default that of an administrator */
  kubeConfigPath(user = 'admin'): string {
    return join(this.#folder, `${user}.yaml`)
  }

  /** A path in the folder of this cluster. */
  pathOf(name: string): string {
    return join(this.#folder, name)
  }

  /** Runs a command against this server. */
  tenure(args: readonly string[], user?: string): Promise<Ran> {
    return run([...args, '--kubeconfig', this.kubeConfigPath(user)])
  }

  /** Stores an object as another client left it, however malformed. */
  put(path: ObjectPath, object: Readonly<Record<string, unknown>>): void {
    const { group, resource, namespace, name } = path
    const now = new Date(0).toISOString()
    const metadata = { uid: randomUUID(), creationTimestamp: now, name, ...(namespace && { namespace }) }
    const { metadata: given } = object
    const collection = group === '' ? resource : `${group}/${resource}`
    const ref = { collection, namespace: namespace ?? '', name }
    this.server.store.create(ref, {
      ...object,
      metadata: { ...metadata, ...(typeof given === 'object' && given) },
    } as never)
  }

  /** Stores a Lease in the namespace `ops`. */
  putLease(name: string, spec: Readonly<Record<string, string | number>>): void {
    const path = { group: 'coordination.k8s.io', resource: 'leases', namespace: 'ops', name }
    this.put(path, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', spec })
  }

  /** The stored Lease in the namespace `ops`. */
  lease(name: string) {
    return this.server.store.get({ collection: 'coordination.k8s.io/leases', namespace: 'ops', name })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop()
    await rm(this.#folder, { recursive: true, maxRetries: 5 })
  }
}

/** Waits until something holds, for 20 s at most. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; !(await holds()); waitedMs += 10) {
    if (waitedMs > 20_000) throw new Error(`Expected this to hold: ${holds.toString()}`)
    const { promise, resolve } = Promise.withResolvers<void>()
    systemClock.setTimer(10, resolve)
    await promise
  }
}
