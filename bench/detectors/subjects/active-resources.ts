import { grow, prepare } from './planted.ts'

await prepare()
const before = process.getActiveResourcesInfo()
await grow()
const after = process.getActiveResourcesInfo()
for (const type of before) if (after.includes(type)) after.splice(after.indexOf(type), 1)
console.log(`left: ${after.join(' ')}`)
process.exit(0)
