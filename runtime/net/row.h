/* The functions of the row `tcp`; for runtime/net only. Threads: see net.h. */
#ifndef DTR_NET_ROW_H
#define DTR_NET_ROW_H

#include "runtime/net/net_parts.h"

const struct dtr_transport_row *dtr_net_row(void);
/* What other threads have left for the end. */
void dtr_net_take_mail(struct dtr_net_end *end);

#endif
