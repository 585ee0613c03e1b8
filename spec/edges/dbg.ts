import { readGraph } from './graph.ts'
const g = await readGraph('/tmp/e/g3.dot')
const from = '[[[true,[],0,0,[],0,3,false,[],0,1,0,0,0],[true,["r1",0],2,2,["r1",0,1],1,3,false,[],0,2,2,0,0],[true,[],2,3,["r1",0,1],1,3,false,[],0,3,2,0,0]],[["empty",3,0,2,false,0,0,0,false,2,0],["follow",1,0,0,false,0,0,0,false,1,0]],[[[2,[true,[],2,3,["r1",0,1],1,3,false,[],0,0,2,0,0],0,0,true]],[[]]],0,[],2]'.replace('["empty",3','["empty",2')
for (const e of g.edges.get(from) ?? []) console.log(e.action, e.to)
const to='[[[true,[],0,0,[],0,3,false,[],0,1,0,0,0],[true,["r1",0],2,2,["r1",0,1],1,3,false,[],0,2,2,0,0],[true,[],2,3,["r1",0,1],1,3,false,[],0,3,2,0,0]],[["follow",3,0,0,false,0,0,0,false,2,0],["follow",1,0,0,false,0,0,0,false,1,0]],[[[3,[true,["r1",0],4,4,["r1",0,1],2,3,false,[],0,0,4,0,0],2,0,false]],[[]]],0,[],2]'
for (const [f, es] of g.edges) for (const e of es) if (e.to===to) console.log('IN', e.action, f)
