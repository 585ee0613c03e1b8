import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pageToken } from '../../src/page/page-token.ts'

let folder = ''

beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'tenure-cli-'))))
afterAll(() => rm(folder, { recursive: true }))

test('the token is the same at the next start, and only its owner can read it', async () => {
  const env = { XDG_STATE_HOME: join(folder, 'state') }
  const token = pageToken({ env })
  expect(pageToken({ env })).toBe(token)
  const path = join(folder, 'state/tenure/page-token')
  expect([await readFile(path, 'utf8'), (await stat(path)).mode & 0o777]).toEqual([token, 0o600])
  await chmod(path, 0o644)
  expect(pageToken({ env })).not.toBe(token)
  await rm(join(folder, 'state'), { recursive: true })
})

test('without a home, each start has a token of its own', () => {
  expect(pageToken({ env: {} })).not.toBe(pageToken({ env: {} }))
  expect(pageToken({ env: { HOME: '/dev/null' } })).toMatch(/^[\w-]{43}$/)
})
