struct Node {
    int value;
    Node *next;
};
__device__ Node *push(Node *list, int value) {
    Node *node = (Node *)malloc(sizeof(Node));
    if (!node)
        __trap();
    node->value = value;
    node->next = list;
    return node;
}
__device__ int release(Node *list) {
    int sum = 0;
    while (list) {
        Node *next = list->next;
        sum += list->value;
        free(list);
        list = next;
    }
    return sum;
}
