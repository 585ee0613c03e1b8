import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { assertTraces, traceInto } from '../../traces/assert-traces.ts'

interface Report {
  readonly kind: 'began' | 'ended'
  readonly epoch: bigint
  /** On the monotonic clock of the machine, in nanoseconds. */
  readonly at: bigint
}

let folder: string
const children: ChildProcess[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenure-file-lock-'))
})

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  try {
    await assertTraces(folder)
  } finally {
    await rm(folder, { recursive: true, maxRetries: 5 })
  }
})

function startReplica(): ChildProcess {
  const child = fork(join(import.meta.dirname, 'replica.ts'), [join(folder, 'janitor.lease')], {
    execArgv: ['--conditions=@tenure/source'],
    serialization: 'advanced',
    stdio: 'inherit',
    env: { ...process.env, ...traceInto(folder, `replica-${children.length}`) },
  })
  children.push(child)
  return child
}

async function next(child: ChildProcess): Promise<Report> {
  const [report] = (await once(child, 'message')) as [Report]
  return report
}

describe('Replicas on one machine, without a cluster', () => {
  test('hand over when the leader is asked to stop, take over when it is killed, and hand out growing epochs', async () => {
    const first = startReplica()
    const began = await next(first)
    expect(began.kind).toBe('began')

    const second = startReplica()
    const [ended, successor, stopped] = [next(first), next(second), once(first, 'exit')]
    first.kill('SIGTERM')
    expect(await ended).toMatchObject({ kind: 'ended', epoch: began.epoch })
    expect((await successor).at).toBeGreaterThan((await ended).at)
    expect((await successor).epoch).toBeGreaterThan(began.epoch)
    expect(await stopped).toEqual([0, null])

    const third = startReplica()
    const takenOver = next(third)
    second.kill('SIGKILL')
    expect(await takenOver).toMatchObject({ kind: 'began' })
    expect((await takenOver).epoch).toBeGreaterThan((await successor).epoch)
  })
})
