#include "compiler/launch/launch.h"

#include "compiler/base/strbuf.h"

#include <ctype.h>

struct manifest {
  const struct dtg_launch_input *in;
  struct dtg_strbuf *out;
};

// Names of objects are DNS labels: lower-case letters, digits and dashes.
static void put_label(const char *text, struct dtg_strbuf *out) {
  bool any = false;
  for (const char *c = text; *c; c++) {
    bool fits = isalnum((unsigned char)*c);
    if (fits || any)
      dtg_strbuf_putc(out, fits ? (char)tolower((unsigned char)*c) : '-');
    any = any || fits;
  }
  if (!any)
    dtg_strbuf_puts(out, "model");
}

static void put_set_name(const struct manifest *m, uint32_t job) {
  put_label(m->in->report->name, m->out);
  dtg_strbuf_putc(m->out, '-');
  put_label(m->in->cluster->jobs[job].name, m->out);
}

// Pod i of a stateful set is SET-i, and its service gives it the name SET-i.SET.
static void put_addresses(void *context, uint32_t job, struct dtg_strbuf *out) {
  const struct manifest *m = context;
  for (uint32_t t = 0; t < m->in->cluster->jobs[job].task_count; t++) {
    dtg_strbuf_puts(out, t > 0 ? ", \"" : "\"");
    put_set_name(m, job);
    dtg_strbuf_printf(out, "-%u.", t);
    put_set_name(m, job);
    dtg_strbuf_printf(out, ":%d\"", DTG_LAUNCH_PORT);
  }
}

static void put_config(const struct manifest *m) {
  dtg_strbuf_puts(m->out, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ");
  put_label(m->in->report->name, m->out);
  dtg_strbuf_puts(m->out, "-cluster\ndata:\n  cluster.cfg: |\n");
  dtg_launch_cluster(m->in->cluster, "    ", put_addresses, (void *)(uintptr_t)m, m->out);
}

static void put_service(const struct manifest *m, uint32_t job) {
  dtg_strbuf_puts(m->out, "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: ");
  put_set_name(m, job);
  dtg_strbuf_puts(m->out, "\nspec:\n"
                          "  clusterIP: None\n"
                          "  # Tasks look each other up while they start.\n"
                          "  publishNotReadyAddresses: true\n"
                          "  selector:\n    app: ");
  put_set_name(m, job);
  dtg_strbuf_printf(m->out, "\n  ports:\n    - name: control\n      port: %d\n", DTG_LAUNCH_PORT);
}

static void put_resources(const struct manifest *m, const struct dtg_job *job) {
  long long mebibytes =
      (long long)(dtg_report_task_memory(m->in->report, job) >> 20) + 1; // rounded up
  dtg_strbuf_puts(m->out, "          # Of the plan; data sets that are read come on top.\n"
                          "          resources:\n            requests:\n");
  dtg_strbuf_printf(m->out, "              memory: %lldMi\n", mebibytes);
  if (job->threads > 0)
    dtg_strbuf_printf(m->out, "              cpu: \"%u\"\n", job->threads);
  if (job->gpu > 0)
    dtg_strbuf_printf(m->out, "            limits:\n              nvidia.com/gpu: \"%u\"\n",
                      job->gpu);
}

static void put_container(const struct manifest *m, uint32_t job) {
  const struct dtg_job *j = &m->in->cluster->jobs[job];
  dtg_strbuf_puts(m->out,
                  "      containers:\n"
                  "        - name: task\n"
                  "          # An image with the output folder of dtgc and the data in it.\n"
                  "          image: ");
  put_label(m->in->report->name, m->out);
  dtg_strbuf_puts(m->out, "\n"
                          "          command: [\"/bin/sh\", \"-c\"]\n"
                          "          # A stateful set starts again what ends; a task that is done "
                          "stays until the set goes.\n"
                          "          args:\n            - >-\n              DTG_TASK=");
  dtg_strbuf_printf(m->out, "%s/${HOSTNAME##*-} ", j->name);
  dtg_launch_quote(m->in->program, m->out);
  dtg_strbuf_puts(m->out, "\n              --cluster /etc/dtg/cluster.cfg $DTG_FLAGS\n"
                          "              && exec sleep infinity\n"
                          "          env:\n"
                          "            - name: DTG_FLAGS\n"
                          "              value: \"\"\n"
                          "          ports:\n");
  dtg_strbuf_printf(m->out, "            - containerPort: %d\n", DTG_LAUNCH_PORT);
  put_resources(m, j);
  dtg_strbuf_puts(m->out, "          volumeMounts:\n"
                          "            - name: cluster\n"
                          "              mountPath: /etc/dtg\n");
}

static void put_set(const struct manifest *m, uint32_t job) {
  dtg_strbuf_puts(m->out, "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: ");
  put_set_name(m, job);
  dtg_strbuf_printf(
      m->out, "\nspec:\n  replicas: %u\n  serviceName: ", m->in->cluster->jobs[job].task_count);
  put_set_name(m, job);
  dtg_strbuf_puts(m->out, "\n  # All at once: no task is ready before the others are there.\n"
                          "  podManagementPolicy: Parallel\n"
                          "  selector:\n    matchLabels:\n      app: ");
  put_set_name(m, job);
  dtg_strbuf_puts(m->out, "\n  template:\n    metadata:\n      labels:\n        app: ");
  put_set_name(m, job);
  dtg_strbuf_puts(m->out, "\n    spec:\n");
  put_container(m, job);
  dtg_strbuf_puts(m->out, "      volumes:\n"
                          "        - name: cluster\n"
                          "          configMap:\n"
                          "            name: ");
  put_label(m->in->report->name, m->out);
  dtg_strbuf_puts(m->out, "-cluster\n");
}

void dtg_launch_k8s(const struct dtg_launch_input *in, struct dtg_strbuf *out) {
  struct manifest manifest = {in, out};
  dtg_strbuf_printf(out, "# kubectl apply -f THIS: one pod per task of %s\n", in->report->name);
  put_config(&manifest);
  for (uint32_t j = 0; j < in->cluster->job_count; j++) {
    put_service(&manifest, j);
    put_set(&manifest, j);
  }
}
