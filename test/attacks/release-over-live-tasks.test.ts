import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServer, openApiServer } from '../scenarios/api-server.ts'
import { Journal } from '../scenarios/journal.ts'
import type { Report } from './live-tasks/replica.ts'

const PROGRAM = join(import.meta.dirname, 'live-tasks/replica.ts')

let server: ApiServer
const kubeConfigPath = join(tmpdir(), `live-tasks-${process.pid}.yaml`)
beforeAll(async () => {
  server = await openApiServer()
  await writeFile(kubeConfigPath, server.kubeConfig('alpha'))
  const subjects = [{ kind: 'User', name: 'alpha', apiGroup: 'rbac.authorization.k8s.io' }]
  const roleRef = { kind: 'ClusterRole', name: 'cluster-admin', apiGroup: 'rbac.authorization.k8s.io' }
  await server.admin.expect('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    method: 'POST',
    body: { metadata: { name: 'alpha' }, roleRef, subjects },
  })
})
afterAll(async () => {
  await rm(kubeConfigPath, { force: true })
  await server[Symbol.asyncDispose]()
})

interface StoredLease {
  readonly spec: { readonly holderIdentity?: string; readonly renewTime?: string }
}

/** The lease as it is stored now. */
async function stored(lease: string): Promise<StoredLease['spec']> {
  const body = await server.admin.expect(`/apis/coordination.k8s.io/v1/namespaces/default/leases/${lease}`)
  return (body as StoredLease).spec
}

/** A replica in a process of its own. */
class Program implements AsyncDisposable {
  readonly reports = new Journal<Report>('the replica')
  readonly logs = new Journal<Readonly<Record<string, unknown>>>('its log')
  readonly child: ChildProcess
  readonly exited: Promise<unknown[]>

  constructor(run: string, lease: string) {
    this.child = fork(PROGRAM, [run, lease], {
      execArgv: ['--conditions=@tenure/source'],
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { PATH: process.env['PATH'], KUBECONFIG: kubeConfigPath },
    })
    this.child.on('message', (report) => this.reports.record(report as Report))
    const { stdout } = this.child
    if (stdout !== null) createInterface(stdout).on('line', (line) => this.logs.record(JSON.parse(line)))
    this.exited = once(this.child, 'exit')
    void this.exited.then(() => {
      this.reports.end('it has ended')
      this.logs.end('it has ended')
    })
  }

  /** The next report of that kind that comes from now on, or the first one. */
  reported(kind: Report['kind'], from = 0) {
    return this.reports.waitFor(kind, (report) => report.kind === kind, { from })
  }

  logged(event: string) {
    return this.logs.waitFor(event, (line) => line['event'] === event)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.send('finish')
    this.child.kill('SIGTERM')
    await this.exited
  }
}

/** Waits for so many renewals of the lease, while the replica goes on acting. Returns who held it. */
async function holdersOver(renewals: number, lease: string, program: Program): Promise<readonly unknown[]> {
  const holders = new Set<unknown>()
  const times = new Set<unknown>()
  while (times.size <= renewals) {
    await program.reported('acted', program.reports.entries.length)
    const { holderIdentity, renewTime } = await stored(lease)
    holders.add(holderIdentity)
    times.add(renewTime)
    if (holderIdentity !== 'alpha') break
  }
  return [...holders]
}

describe.concurrent('a controller that fails with a value that has no text, while a task of it acts', () => {
  it.each(['null-prototype', 'proxy'])('%s: nothing is released before the task has ended', async (run) => {
    await using program = new Program(run, run)
    await program.reported('acted')
    program.child.send('step-down')
    await program.logged('term-ending')

    expect(await holdersOver(5, run, program)).toEqual(['alpha'])
    expect(program.reports.entries.map(({ kind }) => kind)).not.toContain('stepped-down')

    program.child.send('finish')
    const { result } = (await program.reported('stepped-down')) as Extract<Report, { kind: 'stepped-down' }>
    expect(result).toMatchObject({ kind: 'stepped-down', outcome: 'released', drain: 'clean' })
    expect(await program.logged('controller-failed')).toMatchObject({ controller: 'janitor' })
    const kinds = program.reports.entries.map(({ kind }) => kind)
    expect(kinds.indexOf('finished')).toBeLessThan(kinds.indexOf('stepped-down'))
    expect(kinds).not.toContain('rejection')
  })
})

describe.concurrent('a task that awaits the end of its own term', () => {
  it('is named in the log at once, and gets an error in time for the lease to be released', async () => {
    await using program = new Program('waits for its own end', 'self-wait')
    const line = await program.logged('self-wait')
    expect(line['msg']).toMatch(
      /^A task of controller `janitor` awaits `stepDown\(\)`, which waits for that task to end/,
    )
    const rejected = (await program.reported('rejected')) as Extract<Report, { kind: 'rejected' }>
    expect(rejected.reason).toBe(line['msg'])
    const over = await program.logged('term-over')
    expect(over).toMatchObject({ outcome: 'released', drain: 'aborted' })
  })
})

describe.concurrent('a controller that fails while a task of it does not end', () => {
  it('has its failure in the log at once', async () => {
    await using program = new Program('failed and hangs', 'hangs')
    const line = await program.logged('controller-failed')
    expect(line).toMatchObject({ controller: 'janitor', err: { message: 'the disk is full' } })
    expect(await holdersOver(2, 'hangs', program)).toEqual(['alpha'])
  })
})
