import { grow, prepare } from './planted.ts'

const { beforeAll, test } = globalThis as unknown as Record<'beforeAll' | 'test', (...args: unknown[]) => void>
beforeAll(prepare)
test('plant', async () => {
  await grow()
})
