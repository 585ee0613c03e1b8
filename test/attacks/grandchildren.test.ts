import { type ChildProcess, fork } from 'node:child_process'
import { on, once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

/** What the controller of a leader starts, and the files with the pids of it. */
const SHAPES = {
  'the children of a child': ['children', 'a', 'b'],
  'every command of a shell pipeline': ['pipeline', 'a', 'b', 'c'],
  'the child processes of a worker thread': ['worker', 'a', 'b'],
  'grandchildren that ignore SIGTERM': ['ignoring', 'a', 'b'],
  'daemons that left the process group and the session': ['daemons', 'a', 'b'],
  'grandchildren whose parent has exited': ['orphans', 'a', 'b'],
} as const

let folder: string
const leaders: ChildProcess[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenure-grandchildren-'))
})

afterEach(async () => {
  for (const leader of leaders.splice(0)) await kill(leader)
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

async function kill(leader: ChildProcess): Promise<void> {
  if (leader.exitCode !== null || leader.signalCode !== null) return
  leader.kill('SIGKILL')
  await once(leader, 'exit')
}

function startReplica(shape: string): ChildProcess {
  const replica = fork(
    join(import.meta.dirname, 'grandchildren', 'leader.ts'),
    [join(folder, 'lease'), folder, shape],
    {
      execArgv: ['--conditions=@tenure/source'],
      stdio: 'inherit',
    },
  )
  leaders.push(replica)
  return replica
}

async function message(leader: ChildProcess, expected: string): Promise<void> {
  for await (const [received] of on(leader, 'message')) if (received === expected) return
}

async function pids(files: readonly string[]): Promise<readonly number[]> {
  return vi.waitFor(
    async () => {
      const found = await Promise.all(files.map(async (file) => Number(await readFile(join(folder, file), 'utf8'))))
      expect(found.every((pid) => pid > 0)).toBe(true)
      return found
    },
    { timeout: 20_000, interval: 5 },
  )
}

/** A zombie does not act. In a container nobody may reap it. */
function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

describe.each(Object.entries(SHAPES))('%s', (_, [shape, ...files]) => {
  test('have ended before the lease is released', async () => {
    const leader = startReplica(shape)
    const started = await pids(files)
    const released = message(leader, 'released')
    leader.send('step down')
    await released
    expect(started.filter(isAlive)).toEqual([])
  })

  test('have ended within a second after the leader is killed', async () => {
    const leader = startReplica(shape)
    const started = await pids(files)
    await kill(leader)
    const killedAt = performance.now()
    await vi.waitFor(() => expect(started.filter(isAlive)).toEqual([]), { timeout: 5000, interval: 2 })
    expect(performance.now() - killedAt).toBeLessThan(1000)
  })
})

test('When a leader is killed, its grandchildren have acted for the last time before the next leader begins', async () => {
  const leader = startReplica('pipeline')
  const started = await pids(['a', 'b', 'c'])
  const next = startReplica('none')
  await kill(leader)
  await message(next, 'began')
  expect(started.filter(isAlive)).toEqual([])
})
