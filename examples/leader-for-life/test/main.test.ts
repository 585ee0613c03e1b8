import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'

test('two replicas lead for life: the leader writes nothing while it leads, and the other leads when its container has ended', async () => {
  const program = join(import.meta.dirname, '../main.ts')
  const child = spawn(process.execPath, ['--conditions=@tenure/source', program], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [[code], output, errors] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  expect(errors).toBe('')
  expect(code).toBe(0)
  expect(output.trim().split('\n')).toEqual([
    'alpha leads. The ConfigMap belongs to Pod alpha.',
    'alpha still leads. Nobody has written the ConfigMap for 2 s.',
    'alpha was killed, and its kubelet reports that the container has terminated.',
    expect.stringMatching(/^beta leads \d+ ms later\. The ConfigMap belongs to Pod beta\.$/),
  ])
})
