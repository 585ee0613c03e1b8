import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { processEntry } from '../../../src/term/owned/process-table.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenure-guard-'))
})
afterEach(async () => {
  for (const pid of (await pids()).filter(runs)) process.kill(pid, 'SIGKILL')
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

const COUNT = 12
const LEADER = `
import { spawn } from 'node:child_process'
import { OwnedProcesses } from '@tenure/core/internal'
const family = 'for each in ' + 'x '.repeat(${COUNT}) + '; do (setsid sh "$0" &); done; wait'
new OwnedProcesses({ defer() {} }).start(() => spawn('sh', ['-c', family, process.argv[1]], { stdio: 'ignore' }))
setInterval(() => {}, 1e6)
`

const runs = (pid: number): boolean => processEntry(pid)?.runs === true

/** The processes in sessions of their own that have begun. */
async function pids(): Promise<readonly number[]> {
  const text = await readFile(join(folder, 'pids'), 'utf8').catch(() => '')
  return text.split('\n').slice(0, -1).map(Number)
}

test.runIf(process.platform === 'linux')(
  'The guard of a killed leader also kills processes that start another program, again and again, while the guard searches',
  async () => {
    const program = join(folder, 'again.sh')
    await writeFile(program, `[ -n "$AGAIN" ] || echo $$ >> '${folder}/pids'\nexport AGAIN=1\nexec sh "$0"\n`)
    const flags = ['--conditions=@tenure/source', '--input-type=module', '-e', LEADER, program]
    // A small environment: the guard cannot read a large one before the next program starts.
    const env = { PATH: process.env['PATH'] }
    const leader = spawn(process.execPath, flags, { env, stdio: ['ignore', 'ignore', 'inherit'] })
    const begun = await vi.waitFor(
      async () => {
        const found = await pids()
        expect(found).toHaveLength(COUNT)
        return found
      },
      { timeout: 20_000, interval: 10 },
    )
    leader.kill('SIGKILL')
    await once(leader, 'exit')
    await vi.waitFor(() => expect(begun.filter(runs)).toEqual([]), { timeout: 20_000, interval: 10 })
  },
  60_000,
)
