/* SPDX-License-Identifier: Apache-2.0
 *
 * References to one model with a count for each thread, and the removal of the model: what
 * ThreadCounts (include/neuronbook/model/counting.hpp) and ModelShelf::drain() do with one cell.
 *
 * Spin's own memory is sequentially consistent, which no processor's is. So each reader writes
 * through a store buffer: what it has written stays in order and is seen by others only when it
 * leaves the buffer, at any time, while the reader goes on. membarrier() empties each reader's
 * buffer at some moment of the call; a locked instruction empties one's own before it acts.
 *
 * Checked: nobody uses a model that was handed back; whoever waits is woken (no end state with a
 * sleeper). Bugs that must be found: -DCOUNT_FIRST, -DNO_BARRIER, -DNO_RECHECK.
 */

#define READERS 2
#ifndef ROUNDS
#define ROUNDS 2
#endif

#define COUNT 0
#define MAIL 1

bool leaving = false;  /* the bit of the cell's word; also: the handle is not there any more */
bool gone = false;     /* the model was handed back, and may be freed */
short counts[READERS]; /* each reader's own, as others see it */
byte bell = 0;         /* rings */
bool mail = false;     /* a reference on its way from reader 0 to reader 1 */

typedef Buffer {
    chan stores = [6] of { byte, short };
};
Buffer buffers[READERS];

inline leave_buffer(who, where, value) {
    if
    :: where == COUNT -> counts[who] = value
    :: where == MAIL -> mail = (value != 0)
    fi
}

/* A store leaves the buffer of a reader whenever it likes. */
proctype Memory(byte who) {
    byte where;
    short value;
end:
    do
    :: atomic { buffers[who].stores?where, value -> leave_buffer(who, where, value) }
    od
}

/* Everything leaves it at once: a fence of that reader. */
inline fence(who) {
    do
    :: nempty(buffers[who].stores) ->
        buffers[who].stores?where, value;
        leave_buffer(who, where, value)
    :: empty(buffers[who].stores) -> break
    od
}

/* Gives back a reference, wherever it was taken. */
inline drop(who) {
#ifdef NO_RECHECK
    seen = leaving;
    own--;
    buffers[who].stores!COUNT, own;
#else
    own--;
    buffers[who].stores!COUNT, own;
    seen = leaving;
#endif
    if
    :: seen -> atomic { fence(who); bell++ }
    :: else
    fi
}

proctype Reader(byte who) {
    byte where, round = 0;
    short value, own = 0; /* its count as it sees it itself */
    bool seen, had, handed = false;

    do
    :: round < ROUNDS ->
        round++;
        own++;
        buffers[who].stores!COUNT, own;
        had = !leaving; /* had: hold() returned a reference */
        if
        :: had -> assert(!gone) /* use */
        :: else
        fi;
        if
        :: who == 0 && had && !handed ->
            handed = true;
            buffers[who].stores!MAIL, 1 /* behind the count: nobody has it before it counts */
        :: true -> drop(who)
        fi
    :: who == 1 && mail -> /* an exchange, so a fence; taken by reader 0, given back here */
        atomic { fence(who); mail = false };
        assert(!gone);
        drop(who)
    :: who == 0 && round == ROUNDS -> break
    :: who == 1 && round == ROUNDS && !mail ->
    end:
        mail
    od
}

proctype Remover() {
    byte where, who, heard;
    short value, sum;
    bool looked = false;

#ifdef COUNT_FIRST
    sum = counts[0];
    sum = sum + counts[1];
    looked = (sum == 0);
#endif
    leaving = true; /* a locked instruction: nothing of its own is buffered */
#ifndef NO_BARRIER
    who = 0;
    do
    :: who < READERS -> atomic { fence(who) }; who++
    :: else -> break
    od;
#endif
    do
    :: looked -> break
    :: else ->
        heard = bell;
        sum = counts[0];
        sum = sum + counts[1];
        if
        :: sum == 0 -> break
        :: else -> bell != heard /* asleep */
        fi
    od;
    gone = true
}

init {
    atomic {
        run Memory(0);
        run Memory(1);
        run Reader(0);
        run Reader(1);
        run Remover()
    }
}
