/** The shortest program there is. Says when it works and when it is done. */
import { lead } from 'tenure'

await lead({ ops: false, logLevel: 'error' }, async (term) => {
  console.log(`leads with epoch ${term.epoch}`)
  await term.every(1000, () => {})
})
console.log('done')
