import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { KubeConfig } from '@kubernetes/client-node'
import { Manager } from '@tenure/core'
import { LeaseLock } from '@tenure/kubernetes'
import type { ApiServer } from '@tenure/api-server'
import { seededRandom } from '../../packages/core/test/drain/adversary.ts'
import { DRAIN_MS, GRACE_MS, leaseOptions, type ProcessSetup } from './process-setup.ts'

/** The result of one step-down of a process. */
export interface ProcessReport {
  readonly end: 'released' | 'wedged'
  readonly violations: readonly string[]
}

/** A write of the lease that the API server committed, with the time on the clock that all processes of a machine share. */
interface Write {
  readonly holder: string
  readonly at: bigint
}

const WEDGED = 11
const LEASES = 'coordination.k8s.io/leases'

/**
 * A process leads with misbehaving tasks and must end its term while another replica waits for the lease.
 *
 * The oracle compares the records of the tasks with the writes that the API server committed and with the end of the process. A task runs
 * from its beginning to its end or to the end of its process.
 */
export async function drainProcess(server: ApiServer, setup: ProcessSetup): Promise<ProcessReport> {
  const { lease, seed } = setup
  const random = seededRandom(-seed)
  const writes: Write[] = []
  const unwatch = server.store.watch(LEASES, ({ ref, object }) => {
    const spec = object['spec'] as { readonly holderIdentity?: string } | undefined
    if (ref.name === lease) writes.push({ holder: spec?.holderIdentity ?? '', at: process.hrtime.bigint() })
  })
  const child = fork(join(import.meta.dirname, 'adversary-process.ts'), [JSON.stringify(setup)], {
    execArgv: ['--conditions=@tenure/source', '--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'ipc'],
  })
  const exited = exitOf(child)
  const book = text(child.stdio[3] as Readable)
  await Promise.race([once(child, 'message'), exited])
  const heir = heirOf(server, lease)
  const leading = heir.start()
  await sleep((DRAIN_MS + GRACE_MS) * random())
  const isStop = random() < 0.5
  if (isStop) child.kill('SIGTERM')
  else child.send('step-down')
  await untilHolder(writes, 'heir')
  if (!isStop) child.kill('SIGTERM') // It follows; a second signal would not be heard out.
  const { code, at } = await exited
  await heir.stop()
  await leading
  unwatch()
  const isWedged = code === WEDGED
  const tasks = parseBook(await book, at)
  const violations = writes
    .filter(({ holder }) => holder !== 'adversary')
    .flatMap((write) => violationsOf(write, tasks))
    .map((text) => `seed ${seed}: ${text}`)
  if (code !== 0 && !isWedged) violations.push(`seed ${seed}: the process ended with ${code}`)
  if (isWedged && writes.some(({ holder, at: writtenAt }) => holder === 'heir' && writtenAt < at)) {
    violations.push(`seed ${seed}: the heir led before the wedged process was gone`)
  }
  return { end: isWedged ? 'wedged' : 'released', violations }
}

interface Task {
  readonly id: string
  readonly began: bigint
  readonly ended: bigint
}

function violationsOf({ holder, at }: Write, tasks: readonly Task[]): readonly string[] {
  const alive = tasks.filter(({ began, ended }) => began < at && at < ended)
  return alive.length === 0 ? [] : [`holder \`${holder}\` was written while ${alive.length} tasks lived`]
}

function parseBook(book: string, exitedAt: bigint): readonly Task[] {
  const lines = book.split('\n').map((line) => line.split(' '))
  const ends = new Map(
    lines.flatMap(([what, id = '', at = '0']) => (what === 'ended' ? [[id, BigInt(at)] as const] : [])),
  )
  return lines.flatMap(([what, id = '', at = '0']) =>
    what === 'began' ? [{ id, began: BigInt(at), ended: ends.get(id) ?? exitedAt }] : [],
  )
}

function exitOf(child: ChildProcess): Promise<{ readonly code: number | null; readonly at: bigint }> {
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve({ code, at: process.hrtime.bigint() }))
  })
}

function heirOf(server: ApiServer, lease: string): Manager {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(server.kubeConfig())
  return new Manager({
    identity: 'heir',
    lease: leaseOptions(lease),
    createLock: () => new LeaseLock({ kubeConfig, name: lease, namespace: 'default' }),
  })
}

async function untilHolder(writes: readonly Write[], holder: string): Promise<void> {
  while (!writes.some((write) => write.holder === holder)) await sleep(20)
}
