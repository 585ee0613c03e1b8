import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'

test('three replicas keep their addresses in the slice: a killed replica goes after its lease, a stopped one before its process ends', async () => {
  const program = join(import.meta.dirname, '../main.ts')
  const child = spawn(process.execPath, ['--conditions=@tenure/source', program], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [[code], output, errors] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  expect(errors).toBe('')
  expect(code).toBe(0)
  expect(output.trim().split('\n')).toEqual([
    'Three replicas run. The slice has 198.51.100.1, 198.51.100.2, 198.51.100.3.',
    expect.stringMatching(
      /^198\.51\.100\.2 was killed\. \d+ ms later, the slice has 198\.51\.100\.1, 198\.51\.100\.3\.$/,
    ),
    '198.51.100.3 stopped. When its process has ended, the slice has 198.51.100.1.',
    '198.51.100.1 stopped as the last one. The slice has 0 addresses.',
  ])
})
