/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For ordering.sh, which compiles our files once more with this before them: what orders
 * memory accesses, or excludes others, leaves a comment in the assembly, "kprobes-ordering
 * KIND FILE LINE". So it can be counted where it makes no instruction, as most barriers of
 * x86, and where nothing else shows that it is missing, as that of a lock nobody else holds.
 * So do the assertions that a lock is held, and the calls that tell KMSAN, which no kernel of
 * the tests has, what assembly has stored.
 */
#ifdef __KERNEL__
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/jump_label.h>
#include <linux/kmsan.h>
#include <linux/kmsan-checks.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/stringify.h>
#include <linux/wait.h>

#include <asm/barrier.h>
#ifdef CONFIG_X86
#include <asm/text-patching.h>
#endif

#define ORDERS(kind)	\
	asm volatile("# kprobes-ordering " kind " " __FILE__ " " __stringify(__LINE__))

/* Other macros have these, too: those that our lines do not name do not count. */
#ifdef CONFIG_PREEMPT_COUNT
#undef preempt_disable_notrace
#define preempt_disable_notrace()	\
	({ ORDERS("preempt_disable_notrace"); __preempt_count_inc(); barrier(); })
#undef preempt_enable_notrace
#define preempt_enable_notrace()					\
({									\
	ORDERS("preempt_enable_notrace");				\
	barrier();							\
	if (__preempt_count_dec_and_test())				\
		__preempt_schedule_notrace();				\
})
#endif
#undef barrier
#define barrier()			\
	({ ORDERS("barrier"); __asm__ __volatile__("" : : : "memory"); })
#undef smp_mb
#define smp_mb()			({ ORDERS("smp_mb"); __smp_mb(); })
#undef smp_rmb
#define smp_rmb()			({ ORDERS("smp_rmb"); __smp_rmb(); })
#undef smp_wmb
#define smp_wmb()			({ ORDERS("smp_wmb"); __smp_wmb(); })
#undef smp_mb__before_atomic
#define smp_mb__before_atomic()		\
	({ ORDERS("smp_mb__before_atomic"); __smp_mb__before_atomic(); })
#undef smp_mb__after_atomic
#define smp_mb__after_atomic()		\
	({ ORDERS("smp_mb__after_atomic"); __smp_mb__after_atomic(); })
#undef smp_store_release
#define smp_store_release(p, v)		\
	({ ORDERS("smp_store_release"); __smp_store_release(p, v); })
#undef smp_load_acquire
#define smp_load_acquire(p)		({ ORDERS("smp_load_acquire"); __smp_load_acquire(p); })

#undef guard
#define guard(_name)	ORDERS("guard(" #_name ")"); CLASS(_name, __UNIQUE_ID(guard))
#undef scoped_guard
#define scoped_guard(_name, args...)					\
	if (({ ORDERS("scoped_guard(" #_name ")"); false; })) {		\
	} else								\
		__scoped_guard(_name, __UNIQUE_ID(label), args)
#ifndef mutex_lock
#define mutex_lock(lock)		({ ORDERS("mutex_lock"); (mutex_lock)(lock); })
#endif
#define mutex_unlock(lock)		({ ORDERS("mutex_unlock"); (mutex_unlock)(lock); })
#define cpus_read_lock()		({ ORDERS("cpus_read_lock"); (cpus_read_lock)(); })
#define cpus_read_unlock()		({ ORDERS("cpus_read_unlock"); (cpus_read_unlock)(); })
#define kick_all_cpus_sync()		({ ORDERS("kick_all_cpus_sync"); (kick_all_cpus_sync)(); })
#undef cond_resched_tasks_rcu_qs
#define cond_resched_tasks_rcu_qs()	\
	({ ORDERS("cond_resched_tasks_rcu_qs"); rcu_tasks_qs(current, false); cond_resched(); })
#ifdef CONFIG_JUMP_LABEL
#define jump_label_lock()		({ ORDERS("jump_label_lock"); (jump_label_lock)(); })
#define jump_label_unlock()		({ ORDERS("jump_label_unlock"); (jump_label_unlock)(); })
#endif
#ifdef CONFIG_X86
#define text_poke_sync()		({ ORDERS("text_poke_sync"); (text_poke_sync)(); })
#endif
#ifdef CONFIG_SMP
#define smp_call_function(f, info, w)	\
	({ ORDERS("smp_call_function"); (smp_call_function)(f, info, w); })
#endif

#define kmsan_unpoison_entry_regs(regs)	\
	({ ORDERS("kmsan_unpoison_entry_regs"); (kmsan_unpoison_entry_regs)(regs); })
#define kmsan_unpoison_memory(p, size)	\
	({ ORDERS("kmsan_unpoison_memory"); (kmsan_unpoison_memory)(p, size); })

#define list_add_rcu(new, head)		({ ORDERS("list_add_rcu"); (list_add_rcu)(new, head); })
#define list_add_tail_rcu(new, head)	\
	({ ORDERS("list_add_tail_rcu"); (list_add_tail_rcu)(new, head); })
#define list_del_rcu(entry)		({ ORDERS("list_del_rcu"); (list_del_rcu)(entry); })

#undef wake_up_all
#define wake_up_all(head)		\
	({ ORDERS("wake_up_all"); __wake_up(head, TASK_NORMAL, 0, NULL); })

#define synchronize_rcu()		({ ORDERS("synchronize_rcu"); (synchronize_rcu)(); })
#define call_rcu(head, func)		({ ORDERS("call_rcu"); (call_rcu)(head, func); })
#ifdef CONFIG_TASKS_RCU
#define synchronize_rcu_tasks()		\
	({ ORDERS("synchronize_rcu_tasks"); (synchronize_rcu_tasks)(); })
#define call_rcu_tasks(head, func)	\
	({ ORDERS("call_rcu_tasks"); (call_rcu_tasks)(head, func); })
#endif
#undef kfree_rcu
#define kfree_rcu(ptr, rhf)		({ ORDERS("kfree_rcu"); kvfree_rcu_arg_2(ptr, rhf); })
#undef kvfree_rcu
#define kvfree_rcu(ptr, rhf)		({ ORDERS("kvfree_rcu"); kvfree_rcu_arg_2(ptr, rhf); })

/* Its own barriers count. */
#include <linux/kprobes.h>
#define kprobe_assert_held(lock)	\
	({ ORDERS("kprobe_assert_held"); (kprobe_assert_held)(lock); })
#endif
