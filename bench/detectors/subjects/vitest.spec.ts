import { beforeAll, test } from 'vitest'
import { grow, prepare } from './planted.ts'

beforeAll(prepare)
test('plant', async () => {
  await grow()
})
