import { mkdir, mkdtemp, readdir, rename, rm, unlink, utimes, writeFile } from 'node:fs/promises'
import * as fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type LeaseRecord, type LockSnapshot, OptionsError, type PresentLease } from '@tenure/core'
import { systemClock } from '@tenure/core/internal'
import { FileLock } from '../src/file-lock.ts'

vi.mock('node:fs/promises', async (original) => ({ ...(await original<typeof fs>()) }))

const { signal } = new AbortController()
let folder: string
let path: string
const locks: FileLock[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenure-file-lock-'))
  path = join(folder, 'janitor.lease')
})

afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(locks.splice(0).map((lock) => lock.close()))
  await rm(folder, { recursive: true })
})

function open(options: Partial<ConstructorParameters<typeof FileLock>[0]> = {}): FileLock {
  const lock = new FileLock({ path, ...options })
  locks.push(lock)
  return lock
}

function record(holderIdentity: string, leaseTransitions = 0): LeaseRecord {
  return {
    holderIdentity,
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:00.000000Z',
    leaseTransitions,
    annotations: {},
  }
}

async function present(lock: FileLock): Promise<PresentLease> {
  const snapshot = await lock.get({ signal })
  if (snapshot.kind === 'absent') throw new Error('Expected the lease to exist')
  return snapshot
}

/** Holds the next call of `link` back until `go` is called; `reached` resolves when it is made. */
function holdNextLink(): { readonly reached: Promise<void>; readonly go: () => void } {
  const link = fs.link
  const reached = Promise.withResolvers<void>()
  const allowed = Promise.withResolvers<void>()
  vi.spyOn(fs, 'link').mockImplementationOnce(async (...names) => {
    reached.resolve()
    await allowed.promise
    return link(...names)
  })
  return { reached: reached.promise, go: allowed.resolve }
}

describe('The options of a FileLock', () => {
  test.each(['', 'janitor.lease', './janitor.lease', '/tmp/janitor/', 7])('refuse the path %j', (value) => {
    const build = () => new FileLock({ path: value as string })
    expect(build).toThrow(OptionsError)
    expect(build).toThrow(
      `Expected \`path\` to be an absolute path that names a directory to be made, got \`${value}\``,
    )
  })

  test('refuse what is no time to poll, and unknown keys', () => {
    expect(() => new FileLock({ path, pollMs: 0 })).toThrow('Expected `pollMs` to be a number of milliseconds')
    const mistyped = { path, poll: 5 }
    expect(() => new FileLock(mistyped)).toThrow('Unknown option `poll`')
  })
})

describe('A file lock', () => {
  test('says which lease it is about', () => {
    expect(open().description).toBe(`file lease ${path}`)
  })

  test('keeps the present version and the one before it, and nothing else', async () => {
    const lock = open()
    let lease = await lock.create(record('a'), { signal })
    for (let term = 1; term <= 5; term++) lease = await lock.update(lease, record('a', term), { signal })
    expect((await readdir(folder)).sort()).toEqual(['janitor.lease'])
    expect((await readdir(path)).sort()).toEqual([`${lease.version - 1n}.json`, `${lease.version}.json`])
  })

  test('begins at the microseconds of the wall clock and counts on from there', async () => {
    const lock = open({ clock: { ...systemClock, wallTime: () => 1_234_567 } })
    const first = await lock.create(record('a'), { signal })
    const second = await lock.update(first, record('a', 1), { signal })
    expect([first.version, second.version]).toEqual([1_234_567_000n, 1_234_567_001n])
  })

  test('grows across deletion for a process that has seen the lease even when the wall clock was set back', async () => {
    let wallTime = 5_000_000
    const lock = open({ clock: { ...systemClock, wallTime: () => wallTime } })
    const first = await lock.create(record('a'), { signal })
    await rm(path, { recursive: true })
    wallTime = 1000
    expect((await lock.create(record('b'), { signal })).version).toBeGreaterThan(first.version)
  })

  test.each([
    ['', 'a JSON object'],
    ['{"holderIdentity": "a"', 'a JSON object'],
    ['[]', 'a JSON object'],
    ['null', 'a JSON object'],
    ['{"write": "x"}', '`holderIdentity` to be a text'],
    ['{"write": "x", "holderIdentity": null}', '`holderIdentity` to be a text'],
    ['{"holderIdentity": ""}', '`write` to be a text'],
  ])('refuses to read or to replace a version that holds %j', async (content, expected) => {
    const lock = open()
    const lease = await lock.create(record('a'), { signal })
    await writeFile(join(path, `${lease.version}.json`), content)
    const refusal = { failure: 'rejected', message: expect.stringContaining(`to hold ${expected}`) }
    await expect(lock.get({ signal })).rejects.toMatchObject(refusal)
    await expect(lock.update(lease, record('b'), { signal })).rejects.toMatchObject(refusal)
    await expect(lock.create(record('b'), { signal })).rejects.toMatchObject(refusal)
  })

  test('reports content that cannot be read as a broken watch, never as a lease, and goes on when it can', async () => {
    const lock = open({ pollMs: 5 })
    const lease = await lock.create(record('a'), { signal })
    const file = join(path, `${lease.version}.json`)
    const content = await fs.readFile(file, 'utf8')
    await writeFile(file, '{}')
    const reports: string[] = []
    const down = Promise.withResolvers<Error>()
    const up = Promise.withResolvers<void>()
    lock.watch({ changed: ({ kind }) => reports.push(kind), up: up.resolve, down: down.resolve })
    expect((await down.promise).message).toContain('Expected the file')
    expect(reports).toEqual([])
    await writeFile(file, content)
    await up.promise
    expect(reports).toEqual(['present'])
  })

  test('refuses to write on a version that somebody edited in place', async () => {
    const lock = open()
    const lease = await lock.create(record('a'), { signal })
    const file = join(path, `${lease.version}.json`)
    await writeFile(file, (await fs.readFile(file, 'utf8')).replace('"a"', '"b"'))
    await expect(lock.update(lease, record('a', 1), { signal })).rejects.toMatchObject({ failure: 'conflict' })
  })

  test('refuses an update on a base that another lock made', async () => {
    const base = { kind: 'present', version: 7n, record: record('a'), deleting: false } as const
    await expect(open().update(base, record('a'), { signal })).rejects.toMatchObject({ failure: 'rejected' })
  })

  test('says which directory is missing', async () => {
    const lock = open({ path: join(folder, 'missing', 'janitor.lease') })
    expect(await lock.get({ signal })).toMatchObject({ kind: 'absent' })
    await expect(lock.create(record('a'), { signal })).rejects.toMatchObject({
      failure: 'not-found',
      message: expect.stringContaining('missing'),
    })
  })

  test('refuses a path that is a file, and a directory with other files', async () => {
    await writeFile(path, 'x')
    await expect(open().get({ signal })).rejects.toMatchObject({ failure: 'rejected' })
    await unlink(path)
    await mkdir(path)
    await writeFile(join(path, 'notes.txt'), 'x')
    expect(await open().get({ signal })).toMatchObject({ kind: 'absent' })
    await expect(open().create(record('a'), { signal })).rejects.toMatchObject({
      failure: 'rejected',
      message: `Expected ${path} to hold nothing but versions of a lease, got \`notes.txt\``,
    })
  })

  test('follows by polling alone where the kernel reports no changes', async () => {
    const lock = open({ path: join(folder, 'late', 'janitor.lease'), pollMs: 5 })
    const seen: LockSnapshot[] = []
    const reported = Promise.withResolvers<void>()
    lock.watch({
      changed: (snapshot) => {
        if (seen.push(snapshot) === 2) reported.resolve()
      },
      up: () => {},
      down: () => {},
    })
    await mkdir(join(folder, 'late'))
    const lease = await open({ path: join(folder, 'late', 'janitor.lease') }).create(record('a'), { signal })
    await reported.promise
    expect(seen).toMatchObject([{ kind: 'absent' }, { kind: 'present', version: lease.version }])
  })
})

describe('A process that dies in the middle of a write', () => {
  test('leaves a draft that nobody waits for and that is removed after a while', async () => {
    const lock = open()
    const lease = await lock.create(record('a'), { signal })
    await writeFile(join(path, 'old.tmp'), '{')
    await utimes(join(path, 'old.tmp'), new Date(), new Date(Date.now() - 120_000))
    await writeFile(join(path, 'new.tmp'), '{')
    await lock.update(lease, record('b'), { signal })
    expect((await readdir(path)).filter((name) => name.endsWith('.tmp'))).toEqual(['new.tmp'])
  })

  test('leaves drafts in a directory without versions that do not keep others from creating the lease', async () => {
    await mkdir(path)
    await writeFile(join(path, 'old.tmp'), '{')
    await utimes(join(path, 'old.tmp'), new Date(), new Date(Date.now() - 120_000))
    const created = open().create(record('a'), { signal })
    await expect(created).rejects.toMatchObject({ failure: 'unreachable' })
    expect((await open().create(record('a'), { signal })).record.holderIdentity).toBe('a')
  })

  test('has written once the version has its name, even if the older ones were not removed', async () => {
    const lock = open()
    const unremoved = vi.spyOn(fs, 'unlink').mockRejectedValue(new Error('died'))
    let lease = await lock.create(record('a'), { signal })
    for (let term = 1; term <= 3; term++) lease = await lock.update(lease, record('a', term), { signal })
    expect(await readdir(path)).toHaveLength(4)
    unremoved.mockRestore()
    const other = open()
    lease = await other.update(await present(other), record('b', 4), { signal })
    expect(await present(lock)).toEqual(lease)
    expect(await readdir(path)).toHaveLength(2)
  })
})

describe('A writer who slept between reading and writing', () => {
  async function sleepOver(writes: number, meanwhile = async (): Promise<void> => {}): Promise<unknown> {
    const [sleeper, other] = [open(), open()]
    let lease = await other.create(record('other'), { signal })
    const hold = holdNextLink()
    const late = sleeper.update(await present(sleeper), record('sleeper'), { signal })
    await hold.reached
    for (let term = 1; term <= writes; term++) lease = await other.update(lease, record('other', term), { signal })
    await meanwhile()
    hold.go()
    return late
  }

  test('wins when nobody else wrote', async () => {
    expect(await sleepOver(0)).toMatchObject({ kind: 'present', record: { holderIdentity: 'sleeper' } })
  })

  test('is refused when the version it wanted is still there', async () => {
    await expect(sleepOver(1)).rejects.toMatchObject({ failure: 'conflict' })
    await expect(sleepOver(2)).rejects.toMatchObject({ failure: 'conflict' })
  })

  test.each([3, 4, 5])(
    'does not win a version that came and went in %d writes, and nobody ever reads it',
    async (n) => {
      const late = sleepOver(n)
      await expect(late).rejects.toMatchObject({ failure: n === 3 ? 'conflict' : 'unknown-outcome' })
      expect((await present(open())).record).toEqual(record('other', n))
      const next = await open().update(await present(open()), record('next', n + 1), { signal })
      expect((await present(open())).version).toBe(next.version)
    },
  )

  test('writes nothing to a lease that was deleted meanwhile', async () => {
    const late = sleepOver(0, () => rm(path, { recursive: true }))
    await expect(late).rejects.toMatchObject({ failure: 'not-found' })
    expect(await open().get({ signal })).toMatchObject({ kind: 'absent' })
  })

  test('wins nothing of a lease that was deleted and created again meanwhile', async () => {
    const late = sleepOver(0, async () => {
      await rename(path, join(folder, 'gone'))
      await open().create(record('new'), { signal })
    })
    await expect(late).rejects.toMatchObject({ failure: expect.stringMatching(/^(not-found|unknown-outcome)$/) })
    expect((await present(open())).record.holderIdentity).toBe('new')
  })

  test('knows that it won when others have written on its version before it could look', async () => {
    const [sleeper, other] = [open(), open()]
    await other.create(record('other'), { signal })
    const base = await present(sleeper)
    const link = fs.link
    vi.spyOn(fs, 'link').mockImplementationOnce(async (...names) => {
      await link(...names)
      const next = await other.update(await present(other), record('other', 2), { signal })
      expect(next.version).toBe(base.version + 2n)
    })
    expect(await sleeper.update(base, record('sleeper', 1), { signal })).toMatchObject({ version: base.version + 1n })
    expect((await present(open())).record).toEqual(record('other', 2))
  })
})
